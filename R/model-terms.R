# Terms of formulas: those of other packages that have another form here, and a response beside those of a right side.

smooth_terms <- c("s", "te", "ti", "t2", "gp", "f", "lo", "Matern")
smoothing_packages <- c("mgcv", "gam", "brms", "INLA", "spaMM")

# Refuses smooth terms of mgcv, brms, INLA, gam and spaMM, which are kernels here, and grouped effects of lme4, which
# only a trend has.
refuse_other_terms <- function(formula, place) {
  for (one in as.list(attr(stats::terms(formula, allowDotAsName = TRUE), "variables"))[-1]) {
    one <- without_brackets(one)
    if (place == "the formula" && is_bar(one)) {
      abort("unsupported", "`(", deparse1(one), ")` in the formula: in tests such as permanova(), `strata = ",
            deparse1(one[[3]]), "` permutes rows within groups; gp_fit() has effects of groups in its trend, as in ",
            "`trend = ~ (", deparse1(one), ")`")
    }
    name <- if (is.call(one) && is.name(one[[1]])) as.character(one[[1]]) else ""
    if (!name %in% smooth_terms) next
    known <- get0(name, environment(formula) %or% globalenv(), mode = "function")
    if (!is.null(known) && !environmentName(environment(known)) %in% smoothing_packages) next
    abort("unsupported", "`", deparse1(one), "` in ", place, ": ",
          if (place == "the formula") {
            paste("fits are smooth in their inputs without it; write", paste(all.vars(one), collapse = " + "))
          } else {
            paste("smooth terms are kernels here, kernel_spec(of = ) for each input on the right side of the formula;",
                  "in a trend, splines::ns() is smooth")
          })
  }
}

# Adds a response of some class to terms of a right side.
with_response <- function(terms, response, class) {
  both <- stats::formula(terms)
  both[2:3] <- list(response, both[[2]])
  both <- stats::terms(both)
  attr(both, "predvars") <- as.call(append(as.list(attr(terms, "predvars") %or% quote(list())), response, 1))
  attr(both, "dataClasses") <- c(stats::setNames(class, deparse1(response)), attr(terms, "dataClasses"))
  both
}
