# Functions of base R that would silently give a wrong answer for a lazy tensor. They signal an error instead.

# Generic -> its replacement. Registered in zzz.R as S3 methods.
refusals <- c(
  is.na = "a formula has no NA of its own; look at its data or its reduction",
  anyNA = "a formula has no NA of its own; look at its data or its reduction",
  rep = "operands of one component go with any width by themselves",
  as.double = "reduce the formula, or use as.matrix()",
  as.integer = "reduce the formula, or use as.matrix()",
  unlist = "reduce the formula, or use as.matrix()",
  as.character = "use format()",
  as.vector = "reduce the formula, or use as.matrix()",
  as.data.frame = "use as.matrix() first",
  median = "it is of real formulas",  # quantile() too is defined for lazy_tensor alone
  quantile = "it is of real formulas",
  sort = "argKmin() gives the smallest values in order",
  unique = "it is a formula, not numbers",
  rev = "take rows and columns with F[I, J]",
  aperm = "t() exchanges i and j",
  image = "plot() draws it",
  contour = "plot() draws it",
  persp = "plot() draws it",
  hist = "reduce the formula, or use as.matrix()",
  boxplot = "reduce the formula, or use as.matrix()",
  barplot = "reduce the formula, or use as.matrix()",
  cut = "write the comparisons out, as in F > 0.5",
  diff = "it is a formula, not numbers",
  rowsum = "sum(F, index = , by = ) adds up groups",
  weighted.mean = "mean(F, index = , weight = ) is that of points",
  split = "split the data before Vi() or Vj()",
  merge = "merge the data before Vi() or Vj()",
  as.list = "it is one formula",
  as.logical = "lazy_if(test, yes, no) chooses at each pair; as.matrix() gives the numbers",
  is.nan = "a formula has no NaN of its own; look at its data or its reduction",
  is.finite = "look at its data or its reduction",
  is.infinite = "look at its data or its reduction",
  na.omit = "leave points out of the data before Vi() or Vj()",
  duplicated = "it is a formula, not numbers",
  xtfrm = "argKmin() gives the smallest values in order",
  `[<-` = "a formula has no places to assign to; use lazy_if()",
  `[[<-` = "a formula has no places to assign to; use lazy_if()",
  `dim<-` = "its extents are those of its operands",
  `names<-` = "give `name` to Vi(), Vj() or Pm()",
  `dimnames<-` = "it has none",
  `length<-` = "its extents are those of its operands",
  `levels<-` = "it has none",
  `is.na<-` = "a formula has no NA of its own"
)

# --- functions of base R that dispatch on nothing ----------------------------------------------------------
# The calls to a formula, such as length(), show which function of base R runs.

# Returns the call of the function of base R's packages that runs in this frame, by the name of its generic; or NULL.
base_call <- function(frame) {
  if (!environmentName(topenv(frame)) %in% c("base", "stats", "graphics", "grDevices", "utils")) return(NULL)
  at <- Position(function(one) identical(one, frame), sys.frames(), right = TRUE)
  if (is.na(at)) return(NULL)
  call <- tidy_call(at)
  call[[1]] <- as.name(sub("^[.]|[.]default$", "", as.character(call[[1]])[1]))
  call
}

# Refuses a hidden conversion: eigen(), svd(), chol(), dist(), apply() and others would turn their argument silently
# into the matrix of all pairs. `asked`: their call of the generic; in lapply(x, as.matrix) the user asks for it.
refuse_unasked <- function(generic, frame, asked, what = "tensor") {
  call <- if (identical(asked[[1]], as.name(generic))) base_call(frame)
  if (is.null(call)) return(invisible())
  shown <- if (length(call) > 1 && is.name(call[[2]])) call[[2]] else if (what == "tensor") "F" else "A"
  written <- paste0(call[[1]], "(as.matrix(", shown, ")", if (length(call) > 2) ", ...", ")")
  abort("unsupported", call[[1]], "() of a ", refused_kinds[[what]], " is not defined: it takes the matrix ",
        if (what == "tensor") "of all pairs" else "itself", "; write ", written, " if that is what you want",
        call = call)
}

# Refuses pmin() and pmax(). They ask for lengths first, to repeat the shorter argument, perhaps for all pairs.
refuse_parallel <- function(frame, what = "tensor") {
  name <- as.character(base_call(frame)[[1]])
  if (!isTRUE(name %in% c("pmin", "pmax"))) return(invisible())
  refuse(name, what, if (what == "tensor") reaching[[name]] else entries_instead)
}

# --- refusing -----------------------------------------------------------------------------------------------

refused_kinds <- c(tensor = "lazy tensor", complex = "complex lazy tensor", reduction = "lazy reduction",
                   operator = "linear operator")

# The text for a reduction that is not yet computed.
as_numbers <- "as.matrix() computes it, as.function() makes a function of its placeholders"

# Functions of base R that reach a refused function indirectly, and their replacements.
reaching <- c(
  ifelse = "lazy_if(test, yes, no) chooses at each pair",
  pmin = "min2(a, b) is the smaller of two at each pair, min(c(F, G)) that of components",
  pmax = "max2(a, b) is the larger of two at each pair, max(c(F, G)) that of components"
)

refuse <- function(generic, what, instead) {
  no <- function(name, instead, ...) {
    called <- if (grepl("^[[:alpha:]]", name)) paste0(name, "()") else paste0("`", name, "`")
    abort("unsupported", called, " of a ", refused_kinds[[what]], " is not defined: ", instead, ...)
  }
  for (name in names(reaching)) {
    is_running <- function(k) identical(sys.function(k), get(name, baseenv()))
    frame <- Position(is_running, seq_len(sys.nframe()), nomatch = 0)
    if (frame > 0) no(name, if (what == "tensor") reaching[[name]] else instead, call = tidy_call(frame))
  }
  no(generic, instead)
}

# Makes a method with the arguments of the generic.
refuse_method <- function(generic, home, what, instead) {
  for (argument in list(generic, what, instead)) force(argument)  # they are promises of a loop
  method <- function() refuse(generic, what, instead)
  takes <- args(get(generic, home))  # NULL for operators of the language
  formals(method) <- if (is.null(takes)) alist(x = , ... = , value = ) else formals(takes)
  method
}

#' @export
Ops.lazy_reduction <- function(e1, e2) refuse(.Generic, "reduction", as_numbers)

#' @export
Math.lazy_reduction <- function(x, ...) refuse(.Generic, "reduction", as_numbers)

#' @export
Summary.lazy_reduction <- function(..., na.rm = FALSE) refuse(.Generic, "reduction", as_numbers)

#' @export
Math.linear_op <- function(x, ...) refuse(.Generic, "operator", entries_instead)

#' @export
Summary.linear_op <- function(..., na.rm = FALSE) refuse(.Generic, "operator", sums_instead)

#' @export
Complex.linear_op <- function(z) refuse(.Generic, "operator", entries_instead)

sums_instead <- "rowSums(A) and colSums(A) are products; as.matrix(A) gives the entries"

# Generics that reductions keep, since a reduction is stored as a list, and lists need these to work.
kept_for_lists <- c("[[<-", "names<-", "as.list", "unlist")

home_of_generic <- function(generic) {
  for (home in list(baseenv(), asNamespace("stats"), asNamespace("graphics"), asNamespace("utils"))) {
    if (exists(generic, home, inherits = FALSE)) return(home)
  }
}

register_refusals <- function() {
  register <- function(generic, what, instead) {
    class <- c(tensor = "lazy_tensor", complex = "lazy_complex", operator = "linear_op", reduction = "lazy_reduction")
    home <- home_of_generic(generic)
    registerS3method(generic, class[[what]], refuse_method(generic, home, what, instead), envir = home)
  }
  for (generic in names(refusals)) {
    if (!generic %in% c("median", "quantile")) register(generic, "tensor", refusals[[generic]])
    register(generic, "complex", refusals[[generic]])
    register(generic, "operator", entries_instead)
    if (!generic %in% kept_for_lists) register(generic, "reduction", as_numbers)
  }
  # Base R's methods would take apart, bind or multiply out the list that an object is, or call it a wrong argument.
  for (generic in c("mean", "t", "cbind", "rbind")) register(generic, "reduction", as_numbers)
  for (generic in c("cbind", "rbind")) register(generic, "complex", "bind the data before Vi() or Vj()")
  register("determinant", "complex", "as.matrix() gives the numbers")
  register("c", "operator", "cbind(A, B) and rbind(A, B) put operators together")
  register("plot", "operator", entries_instead)
  register("mean", "operator", sums_instead)
  register("isSymmetric", "operator",
           "A$symmetric says so where it is known; isSymmetric(as.matrix(A)) looks at entries")
}
