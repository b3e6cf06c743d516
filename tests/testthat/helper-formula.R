# Keeps a formula as a tree: builds it, writes it as text, evaluates it for one pair.

# A node is list(op, args, attributes, width, kind, call). op is a name of oracle_ops, or
# "Operand" (attributes = its name) or "Number" (attributes = its value); call says
# whether to write an operation as a call where it also has an infix form.

formula_operands <- list(
  x = list(name = "x", axis = "i", width = 3L), u = list(name = "u", axis = "i", width = 1L),
  y = list(name = "y", axis = "j", width = 3L), v = list(name = "v", axis = "j", width = 1L),
  A = list(name = "A", axis = "j", width = 6L), p = list(name = "p", axis = "param", width = 1L),
  q = list(name = "q", axis = "param", width = 3L)
)
comparison_ops <- c("LessThan", "LessOrEqual", "Equal", "NotEqual")
call_names <- c(
  Add = "add", Subtract = "subtract", Mult = "multiply", Divide = "divide", Minus = "minus",
  Square = "square", Exp = "exp", Log = "log", Sqrt = "sqrt", Rsqrt = "rsqrt", Inv = "inv",
  LessThan = "less_than", LessOrEqual = "less_or_equal", Equal = "equal",
  NotEqual = "not_equal", Select = "lazy_if", Sum = "sum", Scalprod = "scalprod",
  SqDist = "sqdist", SqNorm2 = "sqnorm2", Norm2 = "norm2", SumT = "sumt",
  Extract = "extract", ExtractT = "extractt", Elem = "elem", Concat = "concat",
  Pick = "pick", MatMult = "matmult", MatVecMult = "matvecmult", VecMatMult = "vecmatmult", TensorProd = "tensorprod",
  Tanh = "tanh", Atan = "atan", Asinh = "asinh", Erf = "erf", Sigmoid = "sigmoid", Softplus = "softplus",
  Log1p = "log1p", Log2 = "log2", Lgamma = "lgamma", Trigamma = "trigamma", XLogX = "xlogx",
  Max2 = "max2", Min2 = "min2", Floor = "floor", Ceil = "ceiling", Step = "heaviside", ReLU = "relu",
  Max = "max", Min = "min", ArgMax = "argmax"
)

# ---- Trees ----------------------------------------------------------------------------

node_width <- function(op, widths, attributes) {
  switch(op,
    Sum = , Scalprod = , SqDist = , SqNorm2 = , Norm2 = , Elem = , Max = , Min = , ArgMax = 1L,
    SumT = attributes[1],
    Extract = , ExtractT = attributes[2],
    Concat = sum(widths),
    Pick = attributes[1],
    MatMult = prod(widths) %/% attributes[1]^2,
    MatVecMult = widths[1] %/% widths[2],
    VecMatMult = widths[2] %/% widths[1],
    TensorProd = prod(widths),
    max(widths)
  )
}

node <- function(op, ..., attributes = integer()) {
  args <- list(...)
  width <- as.integer(node_width(op, vapply(args, `[[`, 1L, "width"), attributes))
  kind <- if (op %in% comparison_ops) "logical" else "real"
  list(op = op, args = args, attributes = attributes, width = width, kind = kind, call = FALSE)
}

leaf <- function(op, attribute, width) {
  list(op = op, args = list(), attributes = attribute, width = width, kind = "real", call = FALSE)
}
operand <- function(name) leaf("Operand", name, formula_operands[[name]]$width)
number <- function(value) leaf("Number", value, 1L)

node_count <- function(tree) 1 + sum(vapply(tree$args, node_count, 1))
operand_names <- function(tree) {
  if (tree$op == "Operand") return(tree$attributes)
  unique(unlist(lapply(tree$args, operand_names)))
}
has_axis <- function(tree, axis) {
  axis %in% vapply(formula_operands[operand_names(tree)], `[[`, "", "axis")
}

# ---- Text -----------------------------------------------------------------------------

# R's precedence; `least` is what each argument must bind at to go without parentheses.
infix_forms <- list(
  LessThan = list(sign = " < ", level = 2, least = c(3, 3)),
  LessOrEqual = list(sign = " <= ", level = 2, least = c(3, 3)),
  Equal = list(sign = " == ", level = 2, least = c(3, 3)),
  NotEqual = list(sign = " != ", level = 2, least = c(3, 3)),
  Add = list(sign = " + ", level = 3, least = c(3, 4)),
  Subtract = list(sign = " - ", level = 3, least = c(3, 4)),
  Mult = list(sign = " * ", level = 4, least = c(4, 5)),
  Divide = list(sign = " / ", level = 4, least = c(4, 5)),
  Minus = list(sign = "-", level = 5, least = 6),
  Square = list(sign = "^2", level = 6, least = 7),
  Scalprod = list(sign = " | ", level = 7, least = c(2, 2)) # brings its own parentheses
)

is_infix <- function(tree) tree$op %in% names(infix_forms) && !tree$call

text_at_least <- function(tree, least) {
  level <- if (is_infix(tree)) infix_forms[[tree$op]]$level else 7
  text <- formula_text(tree)
  if (level < least) paste0("(", text, ")") else text
}

infix_text <- function(tree) {
  form <- infix_forms[[tree$op]]
  args <- mapply(text_at_least, tree$args, form$least)
  switch(tree$op,
    Minus = paste0(form$sign, args),
    Square = paste0(args, form$sign),
    Scalprod = paste0("(", args[1], form$sign, args[2], ")"),
    paste0(args[1], form$sign, args[2])
  )
}

formula_text <- function(tree) {
  if (tree$op %in% c("Operand", "Number")) return(as.character(tree$attributes))
  if (is_infix(tree)) return(infix_text(tree))
  numbers <- if (tree$op == "Pick") paste0("c(", toString(tree$attributes[-1]), ")") else as.character(tree$attributes)
  args <- c(vapply(tree$args, formula_text, ""), numbers)
  paste0(call_names[[tree$op]], "(", paste(args, collapse = ", "), ")")
}

# ---- Formulas -------------------------------------------------------------------------

as_formula <- function(tree) {
  list(text = formula_text(tree), width = tree$width, kind = tree$kind,
       operands = unname(formula_operands[operand_names(tree)]), tree = tree)
}

oracle_eval <- function(formula, values) eval_node(formula$tree, values)

eval_node <- function(tree, values) {
  if (tree$op == "Operand") return(values[[tree$attributes]])
  if (tree$op == "Number") return(tree$attributes)
  args <- lapply(tree$args, eval_node, values = values)
  do.call(oracle_ops[[tree$op]], c(args, as.list(tree$attributes)))
}

# The component vectors of one pair, as oracle_eval wants them.
operands_at <- function(operands, i, j) {
  row <- list(i = i, j = j)
  component <- function(values, operand) {
    if (operand$axis == "param") values else values[row[[operand$axis]], ]
  }
  Map(component, operands, formula_operands[names(operands)])
}

# The sum over j of a formula, by the oracle.
by_oracle <- function(formula, operands, M, N) {
  oracle_reduce(function(i, j) oracle_eval(formula, operands_at(operands, i, j)) + 0, M, N, "Sum", "j")
}

# ---- As the engine takes them ------------------------------------------------------------

as_kernel <- function(formula, device) {
  axis <- c(i = "Vi", j = "Vj", param = "Pm")
  args <- vapply(formula$operands, function(o) paste0(o$name, " = ", axis[[o$axis]], "(", o$width, ")"), "")
  kernel_op(formula$text, args, index = "j", device = device)
}

# Returns the reduction that a function of kernel_op() runs.
reduction_behind <- function(f) environment(environment(f)$run)$R

# ---- As the package reads, shows and sums it -------------------------------------------

declared_as <- function(declared) kernweave:::declared_operands(declared)
read_text <- function(text, lazy) kernweave:::r_parse(text, names(lazy), lapply(lazy, `[[`, "formula"))$formula
shown_text <- function(formula) kernweave:::r_show(formula, 100000L)
text_sum <- function(formula, lazy, index = "i", extent = c(NA, NA), settings = NULL) {
  kernweave:::new_reduction(list(kernweave:::sum_output(formula, index)), extent, settings,
                            extents = lapply(lazy, `[[`, "formula"))
}

# Names of the operands that a lazy tensor reads.
names_in <- function(F) all.vars(str2lang(format(F)))
