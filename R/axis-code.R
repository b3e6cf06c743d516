# Writes a reduction of an index formula as C++: a plain loop for each axis, or for each level of its blocks, in any
# order. The file axis-expressions.R writes the formula itself.

explain_code <- function(R, order, block) {
  axes <- R$axes
  if (is.null(axes)) {
    abort("input", "`code = TRUE` shows a reduction of an index formula, made with call = FALSE, not ", describe(R))
  }
  fold <- folds_in_code[[axes$of$op]]
  if (is.null(fold)) {
    abort("unsupported", "code is written for ", paste(names(folds_in_code), collapse = ", "), "; not for ", axes$of$op)
  }
  roles <- axes$roles
  order <- order %or% c(roles$outer, roles$sweep, roles$columns, roles$inside, roles$components, roles$lane)
  check_order_of_loops(order, block, names(axes$all))
  structure(code_of_loops(order, block, axes, fold), class = "kernweave_code")
}

#' @rdname explain
#' @export
print.kernweave_code <- function(x, ...) {
  writeLines(as.character(x))
  invisible(x)
}

check_order_of_loops <- function(order, block, all) {
  if (!is.character(order) || !setequal(order, all)) {
    abort("input", "`order` names each of the axes ", paste(all, collapse = ", "), ", once more for each cut; not ",
          format_value(order))
  }
  named <- is.null(block) || (is.list(block) || is.numeric(block)) && length(names(block)) == length(block) &&
    !anyDuplicated(names(block)) && all(names(block) %in% all)
  if (!named) {
    abort("input", "`block` has block sizes named by some of the axes ", paste(all, collapse = ", "),
          ", as in c(", all[1], " = 64); not ", format_value(block))
  }
  for (axis in all) check_blocks(block_of(block, axis), axis, sum(order == axis) - 1)
}

block_of <- function(block, axis) if (axis %in% names(block)) block[[axis]]

check_blocks <- function(sizes, axis, cuts) {
  if (length(sizes) != cuts) {
    abort("input", "axis ", axis, " stands in `order` ", counted(cuts + 1, "time"), ", so `block` has ",
          counted(cuts, "size"), " for it, not ", length(sizes))
  }
  if (!cuts) return(invisible())
  whole <- is.numeric(sizes) && all(is.finite(sizes)) && all(sizes == round(sizes)) && all(sizes >= 1)
  if (!whole || is.unsorted(rev(sizes))) {
    abort("input", "blocks of axis ", axis, " are whole numbers from 1 on, the largest first; not ",
          paste(format(sizes), collapse = ", "))
  }
}

# --- loops ------------------------------------------------------------------------------------------------------

# Returns the axis and the head of each loop. A loop within a block runs over the block of the outer loop of its axis.
heads_of_loops <- function(order, block, names) {
  lapply(seq_along(order), function(k) {
    axis <- order[k]
    sizes <- format(block_of(block, axis), scientific = FALSE, trim = TRUE)
    level <- sum(order[seq_len(k)] == axis)
    own <- names$loops[[axis]]
    outside <- own[seq_len(level - 1)]
    ends <- c(names$extents[[axis]], if (level > 1) paste(outside, "+", sizes[seq_len(level - 1)]))
    end <- Reduce(function(a, b) paste0("std::min<index>(", a, ", ", b, ")"), ends)
    step <- if (level < length(own)) paste(own[level], "+=", sizes[level]) else paste0("++", own[level])
    from <- if (level > 1) own[level - 1] else "0"
    list(axis = axis, head = sprintf("for (index %1$s = %2$s; %1$s < %3$s; %4$s)", own[level], from, end, step))
  })
}

# Writes loops around some statements.
nested <- function(loops, statements) {
  for (loop in rev(loops)) {
    one <- sum(grepl("^[^ }]", statements)) == 1
    statements <- c(paste0(loop$head, if (!one) " {"), paste0("  ", statements), if (!one) "}")
  }
  statements
}

# The first value of each reduction, and its step: from the value so far and one more value to the next value.
folds_in_code <- list(
  sum = list(start = "0.0", step = "%1$s += %2$s;"), count = list(start = "0.0", step = "%1$s += %2$s;"),
  max = list(start = "-INFINITY", uses = "larger", step = "%1$s = larger(%1$s, %2$s);"),
  min = list(start = "INFINITY", uses = "smaller", step = "%1$s = smaller(%1$s, %2$s);")
)

# Writes loops in C++. If the innermost loops are folded, `own` takes their terms; else elements of the result do.
statements_of_loops <- function(loops, kept, fold, result, size, value) {
  folded <- !vapply(loops, `[[`, "", "axis") %in% kept
  own <- sum(cumprod(rev(folded)))
  outside <- utils::head(loops, length(loops) - own)
  in_place <- any(utils::head(folded, length(outside)))
  write <- function(value) sprintf(if (in_place) fold$step else "%s = %s;", result, value)
  inside <- if (!own) write(value) else {
    c(paste0("double own = ", fold$start, ";"), nested(utils::tail(loops, own), sprintf(fold$step, "own", value)),
      write("own"))
  }
  c(if (in_place) sprintf("for (index all = 0; all < %s; ++all) result[all] = %s;", size, fold$start),
    nested(outside, inside))
}

# --- the function -----------------------------------------------------------------------------------------------

code_of_loops <- function(order, block, axes, fold) {
  names <- names_in_code(order, names(axes$all))
  value <- code_of_formula(axes$of$formula, names)
  if (length(axes$folded)) names$helpers <- union(names$helpers, fold$uses)
  extents <- unlist(names$extents)
  kept <- extents[axes$kept]
  result <- paste0("result[", position_in_code(names$points[axes$kept], kept), "]")
  size <- if (length(kept)) paste(kept, collapse = " * ") else "1"
  loops <- heads_of_loops(order, block, names)
  body <- statements_of_loops(loops, axes$kept, fold, result, size, bracketed(value, 6))
  arrays <- vapply(names$arrays, function(one) paste0("const ", one$type, "* __restrict ", one$name), "")
  helpers <- sprintf("const auto %s = %s;", names$helpers, cpp_helpers[names$helpers])
  c("#include <algorithm>", "#include <cmath>", "",
    paste0("// ", axes$of$op, " ", over_axes_text(axes), " of ", formula_text(axes$of$formula, 100000L, 15)),
    paste0("// extents: those of ", paste(names(axes$all), collapse = ", "), "; arrays lie as R has them"),
    "extern \"C\" void nest(const int* extents,",
    paste0("                     ", c(paste0(arrays, ","), "double* __restrict result) {")),
    paste0("  ", c("using index = long long;",
                   sprintf("const index %s = extents[%d];", extents, seq_along(extents) - 1L), helpers, body)),
    "}")
}

# Returns an environment of C++ names of axes, their blocks, extents and arrays; names are added when first used.
names_in_code <- function(order, all) {
  names <- new.env()
  names$taken <- c(cpp_words, names(cpp_helpers), "index", "extents", "result", "own", "all", "nest")
  names$points <- names$loops <- names$extents <- names$arrays <- list()
  names$helpers <- character()
  for (axis in all) names$points[[axis]] <- name_in_code(axis, names)
  for (axis in all) {
    names$extents[[axis]] <- name_in_code(paste0("n_", axis), names)
    cuts <- seq_len(sum(order == axis) - 1)
    blocks <- vapply(cuts, function(k) name_in_code(paste0(axis, k - 1), names), "")
    names$loops[[axis]] <- c(blocks, names$points[[axis]])
  }
  names
}

name_in_code <- function(name, names) {
  plain <- gsub("[^A-Za-z0-9_]", "_", name)
  if (!grepl("^[A-Za-z]", plain)) plain <- paste0("x", plain)
  own <- utils::tail(make.unique(c(names$taken, plain), sep = "_"), 1)
  names$taken <- c(names$taken, own)
  own
}

cpp_words <- strsplit(paste(
  "auto bool break case catch char class const continue default delete do double else enum explicit export extern",
  "false float for friend goto if inline int long mutable namespace new operator private protected public",
  "register return short signed sizeof static std struct switch template this throw true try typedef typename",
  "union unsigned using virtual void volatile while and or not xor INFINITY NAN"), " ")[[1]]
