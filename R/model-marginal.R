# Methods for the marginaleffects package: coefficients, their covariances, and predictions with other coefficients.

# The coefficients of a Gaussian process are the coefficients of its trend. If they change, the predicted process stays,
# as random effects of a mixed model do: standard errors are errors of the trend's coefficients.
#' @exportS3Method marginaleffects::get_coef
get_coef.gp_fit <- function(model, ...) coef(model)

#' @exportS3Method marginaleffects::set_coef
set_coef.gp_fit <- function(model, coefs, ...) {
  model$coefficients[] <- coefs
  model
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.gp_fit <- function(model, vcov = NULL, ...) asked_covariance(vcov, function() stats::vcov(model))

# Interprets `vcov` as marginaleffects does: a matrix, FALSE for none, TRUE or NULL for the covariance of the fit.
asked_covariance <- function(vcov, own) {
  if (isFALSE(vcov) || is.matrix(vcov)) return(if (is.matrix(vcov)) vcov)
  if (is.null(vcov) || isTRUE(vcov)) return(own())
  abort("unsupported", "`vcov` is TRUE, FALSE or a matrix; there are no robust covariances of these fits")
}

# A ridge regression has a coefficient for each row. Standard errors of mean slopes agree with marginal_effects().
#' @exportS3Method marginaleffects::get_coef
get_coef.kernel_ridge <- function(model, ...) {
  if (ncol(model$alpha) > 1) abort("unsupported", "effects are those of one response, not of ", ncol(model$alpha))
  stats::setNames(as.vector(model$alpha), sprintf("alpha[%d]", seq_len(nrow(model$alpha))))
}

#' @exportS3Method marginaleffects::set_coef
set_coef.kernel_ridge <- function(model, coefs, ...) {
  model$alpha[] <- coefs
  model
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.kernel_ridge <- function(model, vcov = NULL, ...) {
  asked_covariance(vcov, function() {
    if (!is.null(model$family)) {
      abort("unsupported", "covariances of a ridge regression with a family are not those of its weights alone; ",
            "vcov = FALSE has estimates, marginal_effects() standard errors")
    }
    labels <- names(get_coef.kernel_ridge(model))
    matrix(stats::vcov(model), length(labels), dimnames = list(labels, labels))
  })
}

# Other fits have no coefficients, so their estimates have no standard errors.
#' @exportS3Method marginaleffects::get_vcov
get_vcov.kernweave_fit <- function(model, vcov = NULL, ...) asked_covariance(vcov, function() NULL)

# Returns a row for each place, or for each place and class.
#' @exportS3Method marginaleffects::get_predict
get_predict.kernweave_fit <- function(model, newdata = insight::get_data(model, verbose = FALSE), type = "response",
                                      ...) {
  arguments <- list(model, newdata)
  of_classes <- is.factor(model[["y"]]) || !is.null(model$data$family$levels)
  if (of_classes && identical(type, "response")) type <- "prob"
  if (!is.null(type) && "type" %in% names(formals(utils::getS3method("predict", class(model)[1])))) {
    arguments$type <- type
  }
  found <- do.call(stats::predict, arguments)
  rowid <- newdata[["rowid"]] %or% seq_len(NROW(found))
  if (is.null(dim(found))) return(data.frame(rowid = rowid, estimate = unname(found)))
  groups <- colnames(found) %or% seq_len(ncol(found))
  data.frame(rowid = rep(rowid, ncol(found)), group = factor(rep(groups, each = nrow(found)), groups),
             estimate = as.vector(found))
}

# Adds the class of fits to the classes that marginaleffects accepts, an option, once that package is loaded.
admit_to_marginaleffects <- function() {
  admit <- function(...) {
    options(marginaleffects_model_classes = union(getOption("marginaleffects_model_classes"), "kernweave_fit"))
  }
  if (isNamespaceLoaded("marginaleffects")) admit()
  else setHook(packageEvent("marginaleffects", "onLoad"), admit)
}
