# Approximated sums of formulas of different distances: each summand has its own plan, and the sum has a plan with their
# totals. `parts` holds the states of the summands; the rest of the state is like the state of one distance.

# Returns the summands of a sum or difference, also if it is multiplied or divided. The first summand takes parts that
# vary along at most one axis. Any other formula is one summand.
summands <- function(K) {
  lapply(summands_of(tensor_of(K$formula)), function(part) {
    new_lazy(home_bound(part$formula), K$extent, K$settings, K$pairs)
  })
}

# Returns the summands of F, at most `deeper` calls deep, for R's stack. A deeper rest is one summand, parted later.
summands_of <- function(F, deeper = 100) {
  node <- F$formula
  if (deeper == 0 || !node$op %in% c("Add", "Subtract", "Minus", "Mult", "Divide", "Swap", "Take")) return(list(F))
  args <- lapply(node$args, tensor_of)
  a <- args[[1]]
  b <- if (length(args) > 1) args[[2]]
  varies <- vapply(args, function(part) has_axis(part, "i") && has_axis(part, "j"), NA)
  within <- function(of) summands_of(of, deeper - 1)
  each <- function(of, f) lapply(within(of), f)
  first <- function(parts, f) c(list(f(parts[[1]])), parts[-1])
  again <- function(part) tensor_of(r_apply(node$op, c(list(part$formula), node$args[-1]), node$attributes))
  switch(paste(c(node$op, ifelse(varies, "pair", "one")), collapse = " "),
    "Add pair pair" = c(within(a), within(b)),
    "Subtract pair pair" = c(within(a), each(b, `-`)),
    "Add pair one" = first(within(a), function(part) part + b),
    "Subtract pair one" = first(within(a), function(part) part - b),
    "Add one pair" = first(within(b), function(part) a + part),
    "Subtract one pair" = first(each(b, `-`), function(part) a + part),
    "Mult one pair" = each(b, function(part) a * part),
    "Mult pair one" = each(a, function(part) part * b),
    "Mult pair pair" = {
      parts <- each(a, function(part) part * b)
      if (length(parts) > 1) parts else each(b, function(part) a * part)
    },
    "Divide pair one" = each(a, function(part) part / b),
    "Minus pair" = each(a, `-`),
    "Swap pair" = , "Take pair one" = each(a, again),
    list(F)
  )
}

# Plans a formula as a sum; `why`: why it is not a formula of one distance. The function tries the two halves before the
# single summands, since several summands may have one distance.
plan_of_summands <- function(state, why) {
  terms <- if (is.null(state$derivative)) summands(state$tensor)
  if (length(terms) < 2) refuse_plan(state, why)
  half <- seq_len(ceiling(length(terms) / 2))
  parts <- lapply(list(terms[half], terms[-half]), function(some) {
    part <- new_approximation(Reduce(`+`, some), state$tol, state$certify)
    for (name in c("used", "near", "prices", "argument")) part[[name]] <- state[[name]]
    part
  })
  refused <- function(e) refuse_plan(state, why)
  plans <- tryCatch(lapply(parts, plan_of_approximation), kernweave_error_not_a_distance = refused,
                    stackOverflowError = refused)  # a sum may have thousands of summands
  total <- function(name) sum(vapply(plans, `[[`, 0, name))
  list(parts = parts, pointer = plans[[1]]$pointer, same = all(vapply(plans, `[[`, NA, "same")),
       scale = total("scale"), near_pairs = total("near_pairs"), bytes = total("bytes"),
       levels = do.call(rbind, lapply(plans, `[[`, "levels")))
}
