# Makes random well-typed formulas and operands from a seed, and shrinks formulas.
# ---- Random choice --------------------------------------------------------------------

# Leaves the caller's random stream as it was found.
with_local_seed <- function(seed, code) {
  old <- get0(".Random.seed", globalenv(), inherits = FALSE)
  restore <- function() {
    if (is.null(old)) rm(".Random.seed", envir = globalenv())
    else assign(".Random.seed", old, globalenv())
  }
  on.exit(restore())
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  force(code)
}

chance <- function(probability) runif(1) < probability
pick <- function(choices) choices[[sample.int(length(choices), 1)]]
half <- function(size) max(1, size %/% 2)
random_number <- function() number(pick(c(0.5, 2, 3, 0.25, 1.5)))
random_inner_width <- function() pick(c(1L, 2L, 3L, 3L, 3L, 6L))
swapped_at_random <- function(op, a, b) if (chance(0.5)) node(op, a, b) else node(op, b, a)

# Two widths that broadcast to `width`.
random_two_widths <- function(width) {
  pick(list(c(width, width), c(width, width), c(width, 1L), c(1L, width)))
}

random_leaf <- function(width) {
  if (width == 1) return(operand(pick(c("u", "v", "p"))))
  if (width == 3) return(operand(pick(c("x", "y", "q"))))
  if (width == 6 && chance(0.7)) return(operand("A"))
  if (width == 4 && chance(0.5)) return(node("Concat", random_leaf(3), random_leaf(1)))
  if (width == 6) return(node("Concat", random_leaf(3), random_leaf(3)))
  if (width > 6) return(node("SumT", random_leaf(1), attributes = width))
  source <- operand(pick(c("A", if (width == 2) c("x", "y", "q"))))
  node("Extract", source, attributes = c(pick(seq_len(source$width - width + 1)), width))
}

# Operands lie on a coarse binary grid, so these are free of rounding on every machine:
# only such values may meet a jump (a comparison, rsqrt or 1 / . near 0).
random_exact <- function(width) {
  a <- random_leaf(width)
  b <- random_leaf(pick(c(width, 1L)))
  pick(list(a, a, node("Subtract", a, b), swapped_at_random("Mult", a, b), node("Add", a, b),
            node("Mult", random_number(), a), node("Square", a), node("Minus", a)))
}

guarded <- function(tree) node("Add", node("Square", tree), number(1))
tame_exp <- function(width) node("Exp", node("Mult", number(0.3), random_exact(width)))

random_real <- function(width, size) {
  if (size <= 1) return(random_leaf(width))
  own <- if (width == 1) c(fold = 7) else c(shape = 5)
  weights <- c(binary = 5, constant = 2, unary = 2, guard = 3, bare = 1, select = 1.5,
               attack = 6, own)
  make <- list(binary = make_binary, constant = make_with_constant, unary = make_unary,
               guard = make_guarded, bare = make_bare, select = make_select,
               attack = make_attack, fold = make_fold, shape = make_shape)
  make[[sample(names(weights), 1, prob = weights)]](width, size - 1)
}

make_binary <- function(width, size) {
  widths <- random_two_widths(width)
  a <- random_real(widths[1], half(size))
  b <- random_real(widths[2], half(size))
  op <- pick(c("Add", "Subtract", "Mult", "Mult", "Divide"))
  node(op, a, if (op == "Divide") guarded(b) else b)
}

make_with_constant <- function(width, size) {
  a <- random_real(width, size)
  op <- pick(c("Add", "Subtract", "Mult"))
  pick(list(swapped_at_random(op, a, random_number()),
            swapped_at_random(op, a, random_number()),
            node("Divide", a, random_number()),
            node("Divide", random_number(), guarded(a))))
}

# Smooth ones whose slope is at most 1, so that they enlarge no rounding error.
gentle <- c("Tanh", "Atan", "Asinh", "Erf", "Sigmoid", "Softplus")
make_unary <- function(width, size) {
  node(pick(c("Minus", "Square", "Minus", "Square", gentle)), random_real(width, size))
}

make_guarded <- function(width, size) {
  a <- random_real(width, size)
  pick(list(node("Exp", node("Minus", node("Square", a))), tame_exp(width),
            node(pick(c("Log", "Sqrt", "Rsqrt", "Inv", "Log1p", "Log2", "Lgamma", "Trigamma", "XLogX")), guarded(a))))
}

make_bare <- function(width, size) {
  a <- random_exact(width)
  pick(list(node(pick(c("Log", "Sqrt", "Rsqrt", "Inv")), a),
            node(pick(c("Max2", "Min2")), a, random_exact(width)),
            node(pick(c("Floor", "Ceil", "Step", "ReLU")), a),
            node("Divide", random_real(width, size), a)))
}

random_test <- function(width, size) {
  widths <- random_two_widths(width)
  order <- pick(c("LessThan", "LessOrEqual"))
  any_op <- pick(comparison_ops)
  # 0.37 is on no grid, so a rounded value does not tie with it.
  if (chance(0.2)) return(swapped_at_random(order, random_real(width, size), number(0.37)))
  if (chance(0.2)) return(swapped_at_random(any_op, random_exact(width), random_number()))
  node(any_op, random_exact(widths[1]), random_exact(widths[2]))
}

make_select <- function(width, size) {
  w <- width
  widths <- pick(list(c(w, w, w), c(w, w, w), c(1L, w, w), c(w, 1L, w), c(w, w, 1L),
                      c(w, 1L, 1L)))
  branch <- function(width) {
    if (width == 1 && chance(0.3)) number(pick(c(0, 1, 2))) else random_real(width, half(size))
  }
  node("Select", random_test(widths[1], half(size)), branch(widths[2]), branch(widths[3]))
}

make_fold <- function(width, size) {
  inner <- random_inner_width()
  a <- random_real(inner, half(size))
  b <- random_real(pick(c(inner, inner, 1L)), half(size))
  pick(list(node("Sum", a), node("Sum", a), swapped_at_random("Scalprod", a, b),
            swapped_at_random("SqDist", a, b), node("SqNorm2", a), node("Norm2", a),
            node("Elem", a, attributes = pick(seq_len(inner))),
            node(pick(c("Max", "Min", "ArgMax")), random_exact(inner))))
}

# Operations whose result is wider than 1 for a reason of their own.
make_shape <- function(width, size) {
  real <- function(width) random_real(as.integer(width), half(size))
  part <- pick(seq_len(width - 1))
  more <- width + pick(0:2)
  inner <- pick(2:3)
  factor <- pick(Filter(function(k) width %% k == 0, seq_len(width)))
  ops <- c("SumT", "Extract", "ExtractT", "Pick", "Concat", "TensorProd")
  # Matrices of more than 12 elements would nest into ever larger ones.
  if (width * inner <= 12) ops <- c(ops, "MatVecMult", "VecMatMult", "MatMult")
  op <- pick(ops)
  switch(op,
    SumT = node(op, real(1), attributes = width),
    Extract = node(op, real(more), attributes = c(pick(seq_len(more - width + 1)), width)),
    ExtractT = node(op, real(part), attributes = c(pick(seq_len(width - part + 1)), width)),
    Pick = node(op, real(more), attributes = c(as.integer(width), sample.int(more, width, replace = TRUE))),
    MatMult = node(op, real(factor * inner), real(inner * width %/% factor), attributes = inner),
    Concat = node(op, real(part), real(width - part)),
    MatVecMult = node(op, real(width * inner), real(inner)),
    VecMatMult = node(op, real(inner), real(width * inner)),
    TensorProd = node(op, real(factor), real(width %/% factor))
  )
}

# Shapes that invite a simplifier to go wrong; b is as wide as a or a scalar, s is a scalar.
attacks <- function(a, b, s) {
  list(
    node("Minus", node("Minus", a)),
    node("Minus", node("Subtract", a, b)),
    node("Mult", a, a),
    node("Mult", random_number(), node("Mult", random_number(), a)),
    node("Mult", node("Mult", number(2), number(3)), a),
    node("Mult", node("Exp", number(0.5)), a),
    node("Mult", node("Subtract", number(0), a), b),
    node("Mult", a, node("Inv", guarded(b))),
    node("Mult", tame_exp(a$width), tame_exp(a$width)),
    node("Add", node("Mult", a, s), node("Mult", b, s)),
    swapped_at_random("Add", a, number(0)),
    swapped_at_random("Mult", number(1), a),
    node("Divide", a, number(1)),
    node("Sqrt", node("Square", a)),
    node("Inv", node("Inv", guarded(a))),
    node("Log", tame_exp(a$width))
  )
}

# Shapes that invite a simplifier to go wrong inside a sum: a scalar there counts once per component.
summed_attacks <- function(a, b, s) {
  list(
    node("Mult", a, b),
    node("Mult", a, a),
    node("Square", node("Subtract", a, b)),
    node("Mult", s, a),
    node("Mult", s, node("Mult", random_number(), a)),
    node("Add", s, a),
    node("Subtract", random_number(), a),
    node("Minus", a)
  )
}

make_attack <- function(width, size) {
  in_sum <- width == 1 && chance(0.6)
  if (in_sum) width <- random_inner_width()
  a <- random_real(width, half(size))
  b <- random_real(pick(c(width, width, 1L)), half(size))
  s <- random_real(1L, half(size))
  if (in_sum) node("Sum", pick(summed_attacks(a, b, s))) else pick(attacks(a, b, s))
}

# ---- Formulas -------------------------------------------------------------------------

# A formula without an i or a j operand would leave M or N unsaid.
add_missing_axes <- function(tree) {
  add <- function(part) {
    if (!has_axis(tree, "i")) part <- node("Add", part, operand("u"))
    if (!has_axis(tree, "j")) part <- node("Mult", operand("v"), part)
    part
  }
  if (tree$kind == "real") return(add(tree))
  tree$args[[1]] <- add(tree$args[[1]])
  tree
}

random_style <- function(tree) {
  tree$call <- chance(if (tree$op == "Square") 0.5 else 0.1)
  tree$args <- lapply(tree$args, random_style)
  tree
}

random_tree <- function(size) {
  # A few draws before patching: a patch puts the same dull "+ u" at the root.
  for (draw in 1:10) {
    width <- pick(c(1L, 1L, 1L, 2L, 3L, 3L, 4L, 6L))
    tree <- if (chance(0.04)) random_test(width, size) else random_real(width, size)
    if (has_axis(tree, "i") && has_axis(tree, "j")) return(tree)
  }
  add_missing_axes(tree)
}

random_formula <- function(seed, size = 8) {
  with_local_seed(seed, as_formula(random_style(random_tree(size))))
}

random_operands <- function(seed, M, N) {
  rows <- c(i = M, j = N, param = 1)
  with_local_seed(seed, lapply(formula_operands, function(operand) {
    count <- rows[[operand$axis]]
    values <- sample(-32:32, count * operand$width, replace = TRUE) / 16
    if (operand$axis == "param") values else matrix(values, count, operand$width)
  }))
}

# ---- Shrinking ------------------------------------------------------------------------

all_paths <- function(tree) {
  below_arg <- function(k) lapply(all_paths(tree$args[[k]]), function(path) c(k, path))
  c(list(integer()), unlist(lapply(seq_along(tree$args), below_arg), recursive = FALSE))
}
subtree_at <- function(tree, path) {
  for (k in path) tree <- tree$args[[k]]
  tree
}
replace_at <- function(tree, path, new) {
  if (length(path) == 0) return(new)
  tree$args[[path[1]]] <- replace_at(tree$args[[path[1]]], path[-1], new)
  tree
}

plain_leaves <- function(width) {
  if (width == 1) return(lapply(c("u", "v", "p"), operand))
  if (width == 3) return(lapply(c("x", "y", "q"), operand))
  if (width == 6) return(list(operand("A")))
  if (width > 6) return(list(node("SumT", operand("u"), attributes = width)))
  list(node("Extract", operand("A"), attributes = c(1L, width)))
}

# Bare numbers are kept out: sum(2) or extract(2, 1, 1) is not what a shrunk case is about.
smaller_subtrees <- function(tree) {
  below <- lapply(all_paths(tree)[-1], function(path) subtree_at(tree, path))
  candidates <- c(if (tree$kind == "real") plain_leaves(tree$width), below)
  fits <- function(new) {
    new$width == tree$width && new$kind == tree$kind && node_count(new) < node_count(tree) &&
      length(operand_names(new)) > 0
  }
  candidates <- Filter(fits, candidates)
  candidates[order(vapply(candidates, node_count, 1))]
}

shrink_once <- function(tree, fails) {
  for (path in all_paths(tree)) {
    for (new in smaller_subtrees(subtree_at(tree, path))) {
      smaller <- replace_at(tree, path, new)
      complete <- has_axis(smaller, "i") && has_axis(smaller, "j")
      if (complete && fails(as_formula(smaller))) return(smaller)
    }
  }
  NULL
}

# Every step loses nodes, so this ends. Returns a formula, its tree included.
shrink_formula <- function(tree, fails) {
  repeat {
    smaller <- shrink_once(tree, fails)
    if (is.null(smaller)) return(as_formula(tree))
    tree <- smaller
  }
}

# A number of any size from 10^least to 10^most.
random_size <- function(least, most) 10^stats::runif(1, least, most)
