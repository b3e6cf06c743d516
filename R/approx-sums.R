# Approximated sums of formulas of different distances: each summand has its own plan, and all together one that tells
# what they come to. Its `parts` are the summands' states; all else of a state is as that of one distance.

# The summands of a formula that is a sum or a difference, also times something, or over it; what does not vary along
# both axes goes with the first one. The formula alone where it is none.
summands <- function(K) {
  lapply(summands_of(tensor_of(K$formula)), function(part) {
    new_lazy(home_bound(part$formula), K$extent, K$settings, K$pairs)
  })
}

# Returns the summands of F, at most `deeper` calls deep, as R's stack bears. The rest is a summand, parted later.
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

# The plan of a formula that is none of one distance for this reason. Halves are tried before single summands, of which
# some may have the same distance.
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
                    stackOverflowError = refused)  # of thousands of summands
  total <- function(name) sum(vapply(plans, `[[`, 0, name))
  list(parts = parts, pointer = plans[[1]]$pointer, same = all(vapply(plans, `[[`, NA, "same")),
       scale = total("scale"), near_pairs = total("near_pairs"), bytes = total("bytes"),
       levels = do.call(rbind, lapply(plans, `[[`, "levels")))
}
