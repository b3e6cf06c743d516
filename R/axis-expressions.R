# Writes index formulas by number as C++ expressions: the C++ names of operations and arrays.

# An expression is a text, its precedence, and whether its C++ type is double.
atom <- function(text) list(text = text, binds = 9, real = TRUE)

cpp_infix <- data.frame(
  row.names = c("Add", "Subtract", "Mult", "Divide", "LessThan", "LessOrEqual", "Equal", "NotEqual"),
  sign = c("+", "-", "*", "/", "<", "<=", "==", "!="), binds = c(6, 6, 7, 7, 5, 5, 4, 4))

cpp_functions <- c(
  Exp = "std::exp", Log = "std::log", Sqrt = "std::sqrt", Sin = "std::sin", Cos = "std::cos", Tan = "std::tan",
  Asin = "std::asin", Acos = "std::acos", Atan = "std::atan", Atan2 = "std::atan2", Sinh = "std::sinh",
  Cosh = "std::cosh", Tanh = "std::tanh", Asinh = "std::asinh", Acosh = "std::acosh", Atanh = "std::atanh",
  Expm1 = "std::expm1", Log1p = "std::log1p", Log2 = "std::log2", Log10 = "std::log10", Exp2 = "std::exp2",
  Abs = "std::abs", Floor = "std::floor", Ceil = "std::ceil", Trunc = "std::trunc", Nearest = "std::nearbyint",
  Erf = "std::erf", Erfc = "std::erfc", Lgamma = "std::lgamma", Gamma = "std::tgamma", Powf = "std::pow",
  Square = "square", Max2 = "larger", Min2 = "smaller", Sign = "sign", Mod = "modulo", IntDiv = "quotient",
  Rsqrt = "rsqrt", Inv = "inverse", ReLU = "relu", Step = "heaviside", XLogX = "xlogx", Sigmoid = "sigmoid")

# The functions that the standard library lacks. If x or y is NaN, larger(x, y) and smaller(x, y) are NaN.
cpp_helpers <- c(
  square = "[](double x) { return x * x; }",
  larger = "[](double x, double y) { return x < y || std::isnan(y) ? y : x; }",
  smaller = "[](double x, double y) { return y < x || std::isnan(y) ? y : x; }",
  sign = "[](double x) { return x < 0.0 ? -1.0 : 0.0 < x ? 1.0 : x; }",
  modulo = "[](double x, double y) { return x - std::floor(x / y) * y; }",
  quotient = "[](double x, double y) { return std::floor(x / y); }",
  rsqrt = "[](double x) { return x == 0.0 ? 0.0 : 1.0 / std::sqrt(x); }",
  inverse = "[](double x) { return 1.0 / x; }",
  relu = "[](double x) { return x < 0.0 ? 0.0 : x; }",
  heaviside = "[](double x) { return x < 0.0 ? 0.0 : 0.0 <= x ? 1.0 : x; }",
  xlogx = "[](double x) { return x == 0.0 ? 0.0 : x * std::log(x); }",
  sigmoid = "[](double x) { return 1.0 / (1.0 + std::exp(-x)); }")

code_of_formula <- function(formula, names) {
  op <- formula$op
  if (op == "Number") return(number_in_code(formula$args))
  if (op == "Var") return(code_of_operand(formula$args, names))
  args <- lapply(formula$args, code_of_formula, names)
  real <- any(vapply(args, `[[`, NA, "real"))
  if (op %in% rownames(cpp_infix)) {
    row <- cpp_infix[op, ]
    if (op == "Divide" && !real) args[[2]] <- atom(as_double(args[[2]]))
    least <- if (row$binds > 5) row$binds + 0:1 else c(6, 6)
    text <- paste(bracketed(args[[1]], least[1]), row$sign, bracketed(args[[2]], least[2]))
    return(list(text = text, binds = row$binds, real = op == "Divide" || real && row$binds > 5))
  }
  if (op == "Minus") return(list(text = paste0("-", bracketed(args[[1]], 9)), binds = 8, real = real))
  if (op == "Select") {
    text <- paste(bracketed(args[[1]], 3), "?", as_double(args[[2]], 3), ":", as_double(args[[3]], 2))
    return(list(text = text, binds = 2, real = TRUE))
  }
  called <- cpp_functions[op]
  if (is.na(called)) {
    abort("unsupported", "the operation ", op, " has no code in C++: there is some for operations by number, such as ",
          "exp(); an axis in place of components, x[i, a] for x[i, ], makes numbers of them")
  }
  if (called %in% names(cpp_helpers)) names$helpers <- union(names$helpers, called)
  atom(paste0(called, "(", paste(vapply(args, as_double, ""), collapse = ", "), ")"))
}

bracketed <- function(expression, least) {
  if (expression$binds < least) paste0("(", expression$text, ")") else expression$text
}

as_double <- function(expression, least = 0) {
  if (expression$real) bracketed(expression, least) else paste0("double(", expression$text, ")")
}

number_in_code <- function(x) {
  if (is.nan(x)) return(atom("NAN"))
  if (is.infinite(x)) return(if (x > 0) atom("INFINITY") else list(text = "-INFINITY", binds = 8, real = TRUE))
  text <- format(x, digits = 15)
  if (as.numeric(text) != x) text <- format(x, digits = 17)
  if (!grepl("[.e]", text)) text <- paste0(text, ".0")
  list(text = text, binds = if (x < 0) 8 else 9, real = TRUE)
}

# --- arrays -----------------------------------------------------------------------------------------------------

code_of_operand <- function(operand, names) {
  place <- place_of_operand(operand)
  if (width_of_place(place) > 1) {
    abort("unsupported", "`", place$name, "` has ", width_of_place(place), " components, but code is written for ",
          "formulas by number: give them an axis, as in x[i, a] for x[i, ]")
  }
  if (prod(place$dim) == 1 && !length(place$axes)) return(number_in_code(as.numeric(plain_value(place$x))))
  if (is_counter(place)) return(list(text = paste(names$points[[place$axes]], "+ 1"), binds = 6, real = FALSE))
  atom(element_in_code(place, "double", names))
}

is_counter <- function(place) {
  identical(place$name, place$axes) && is_plain_list(place) &&
    identical(as.numeric(plain_value(place$x)), as.numeric(seq_len(place$dim)))
}

# Writes an element of an array. A dimension as long as an axis uses the name of its extent; others use a number.
element_in_code <- function(place, type, names) {
  array <- array_in_code(place, type, names)
  extents <- Map(function(spec, extent) if (spec$kind == "axis") names$extents[[spec$axes]] else whole_in_code(extent),
                 place$specs, place$dim)
  points <- lapply(place$specs, point_in_code, names)
  paste0(array, "[", position_in_code(points, unlist(extents)), "]")
}

# Returns the C++ name of an array. Two places of one array share one argument.
array_in_code <- function(place, type, names) {
  said <- sub("\\[.*", "", place$name)
  for (one in names$arrays) if (one$said == said && one$type == type && identical(one$x, place$x)) return(one$name)
  name <- name_in_code(said, names)
  names$arrays[[length(names$arrays) + 1]] <- list(said = said, type = type, x = place$x, name = name)
  name
}

whole_in_code <- function(x) format(x, scientific = FALSE, trim = TRUE)

# Writes the subscript of a dimension, counted from 0, in C++.
point_in_code <- function(spec, names) {
  switch(spec$kind, axis = names$points[[spec$axes]], component = "0", number = whole_in_code(spec$value - 1),
         window = window_in_code(unlist(names$points[spec$axes]), spec$by, spec$plus + sum(spec$by) - 1),
         gather = paste(element_in_code(spec$by, "int", names), "- 1"))
}

window_in_code <- function(points, by, plus) {
  size <- abs(by)
  terms <- paste0(ifelse(size == 1, "", paste0(whole_in_code(size), " * ")), points)
  text <- paste0(ifelse(by < 0, " - ", " + "), terms, collapse = "")
  text <- if (by[1] < 0) paste0("-", substring(text, 4)) else substring(text, 4)
  paste0(text, if (plus) paste0(if (plus < 0) " - " else " + ", whole_in_code(abs(plus))))
}

# Returns the position of an element in memory: the first dimension varies fastest.
position_in_code <- function(points, extents) {
  found <- "0"
  for (k in rev(seq_along(points))) {
    times <- if (found != "0") paste(extents[k], "*", if (grepl(" ", found)) paste0("(", found, ")") else found)
    found <- if (is.null(times)) points[[k]] else if (points[[k]] == "0") times else paste(points[[k]], "+", times)
  }
  found
}
