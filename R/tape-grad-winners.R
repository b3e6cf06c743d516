# Minima and similar reductions have the derivatives of the formula at the winners, the pairs with the smallest values.

# Writes the smallest values as a sum of one term each: the formula gathered at the winners, so that derivatives visit
# no other pair. If nothing can be gathered, winner_here() marks the pairs.
at_winners <- function(R) {
  check_winners(R)
  if (!is.null(R$groups) || isTRUE(R$all_pairs)) return(R)
  output <- R$outputs[[1]]
  if (!can_be_gathered(R, output)) return(R)
  kept_with(R, "at_winners", function() {
    search <- search_of(R, output)
    parts <- lapply(seq_len(output$K), function(k) value_at_winner(output, search, k))
    value <- Reduce(function(a, b) r_apply("Concat", list(a, b), NULL), parts)
    extent <- R$extent
    extent[folded_side(output)] <- NA
    new_reduction(list(sum_output(value, output$keep, output$finish)), extent, R$settings)
  })
}

saves_of_winners <- c("winner", "nan_or_winner", "winners")

# Refuses folded outer axes, since a pair does not know positions along them.
check_winners <- function(R) {
  if (is.null(R$settings$folded)) return(invisible())
  for (output in R$outputs) {
    if (!output$op %in% reduction_rows$name || !reduction_row(output$op)$saves %in% saves_of_winners) next
    abort("unsupported", "the gradient of ", output$label, "() over so many axes is not built yet: it may fold one ",
          "axis, or two where nothing is kept")
  }
}

most_gathered <- 16  # more would make long formulas

can_be_gathered <- function(R, output) {
  wins <- reduction_row(output$op)$saves %in% saves_of_winners
  if (!wins || output$finish$results == "index" || !output$keep %in% c("i", "j") || !is.null(R$pairs)) return(FALSE)
  real <- identical(output$value$type[1:2], c(1L, kind_codes[["real"]]))
  if (!real || output$K > most_gathered || !isTRUE(R$extent[folded_side(output)] > 0)) return(FALSE)
  plain <- function(operand) operand$axis != "pair" && is.null(operand$from)
  all(vapply(r_operands(list(output$value)), plain, NA))
}

folded_side <- function(output) if (output$keep == "i") 2L else 1L

# Returns the formula at the k-th smallest value, 0 if there are fewer values.
value_at_winner <- function(output, search, k) {
  number <- function(places) {
    operand <- new_operand("winner", kept_axis(output$keep), 1L, "integer")
    operand$from <- list(reduction = search, part = "index", flat = FALSE, column = k, places = places)
    lazy_operand(operand)$formula
  }
  there <- r_apply("LessOrEqual", list(number_formula(1), number(FALSE)), NULL)
  value <- r_apply("Take", list(output$value, number(TRUE)), folded_side(output) - 1L)
  r_apply("Select", list(there, value, number_formula(0)), NULL)
}

# True at the pair with the smallest value, or with one of the K smallest: its row number is the saved number.
winner_here <- function(R, output) {
  if (output$keep == "none" && is.na(R$extent[1])) {
    abort("no_data", "the gradient of a minimum over both axes needs data")
  }
  place <- switch(output$keep, i = col_index(), j = row_index(), none = row_index() + (col_index() - 1) * R$extent[1])
  winners <- kept_with(R, "winners", function() {
    saved_operand(search_of(R, output), "index", "winner", output$keep, width = output$K * output$value$type[1],
                  kind = "integer")
  })
  (place == winners)$formula
}

search_of <- function(R, output) {
  kept_with(R, "search", function() {
    if (output$op == "KMinArgKMin") return(beside(R, output, "KMinArgKMin", K = output$K))
    value <- output$value
    if (output$op == "Min") {  # NaN is the smallest value there is
      known <- r_apply("Equal", list(value, value), NULL)
      value <- r_apply("Select", list(known, value, number_formula(-Inf)), NULL)
    }
    beside(R, output, "MinArgMin", value)
  })
}

where_listed <- function(form, value) r_apply("Select", list(form$listed, value, number_formula(0)), NULL)

# Excludes pairs that are not among the results; multiplying by 0 would fail, since their slopes may be infinite.
at_listed <- function(form) {
  winning <- form$listed %or% if (is_by_component(form)) form$here
  if (!is.null(winning)) {
    form$here <- r_apply("LessThan", list(number_formula(0), r_apply("Sum", list(winning), NULL)), NULL)
  }
  form
}

# Gives each pair the cotangents of its results; with several components, of the components of which it is the winner.
shared_out <- function(form, g) {
  if (!is.null(form$listed)) return(r_apply("Sum", list(where_listed(form, g)), NULL))
  if (is_by_component(form)) r_apply("Select", list(form$here, g, number_formula(0)), NULL) else g
}
is_by_component <- function(form) !is.null(form$here) && form$value$type[1] > 1
