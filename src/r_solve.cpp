// R's way to solvers: landmarks, preconditioners that are kept behind pointers, and all that solves.
#include <algorithm>

#include "base/threads.hpp"
#include "border.hpp"
#include "r_preconditioner.hpp"
#include "solve/block.hpp"
#include "solve/block_krylov.hpp"
#include "solve/conjugate_gradients.hpp"
#include "solve/lanczos.hpp"
#include "solve/landmarks.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave {
namespace {

const char* end_name(solve::Solution::Ending end) {
  switch (end) {
    case solve::Solution::Ending::cap: return "cap";
    case solve::Solution::Ending::stagnant: return "stagnant";
    case solve::Solution::Ending::converged: break;
  }
  return "converged";
}

// The smallest eigenvalue of what was iterated with, as the iteration saw it; infinite where it took no step.
double smallest_ritz_value(const solve::Solution& solution) {
  double smallest = R_PosInf;
  for (const solve::Coefficients& numbers : solution.coefficients)
    if (!numbers.step.empty()) smallest = std::min(smallest, solve::smallest_value(solve::tridiagonal(numbers)));
  return smallest;
}

Rcpp::List solution_to_r(const solve::Solution& solution) {
  return Rcpp::List::create(Rcpp::_["x"] = block_to_r(solution.x.to_host()),
                            Rcpp::_["iterations"] = solution.iterations,
                            Rcpp::_["residual"] = vector_to_r(solution.residual), Rcpp::_["history"] = solution.history,
                            Rcpp::_["products"] = solution.products, Rcpp::_["end"] = end_name(solution.end));
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_landmarks(Rcpp::List entries, Rcpp::NumericVector among, Rcpp::NumericVector diagonal, int most,
                       double seed) {
  return kernweave::at_border([&] {
    kernweave::solve::Entries numbers = kernweave::entries_from_r(entries);
    const auto places = Rcpp::as<kernweave::solve::RowIndices>(among);
    const auto found = kernweave::solve::choose_landmarks(&numbers, places, kernweave::vector_from_r(diagonal), {most},
                                                          static_cast<std::uint64_t>(seed));
    return Rcpp::List::create(Rcpp::_["chosen"] = found.chosen, Rcpp::_["residual"] = found.residual);
  });
}

// F of F F', from the landmarks of all points; `residual` is what they leave of the trace.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_landmark_factor(Rcpp::List entries, Rcpp::NumericVector diagonal, int most, double tolerance,
                             double seed) {
  return kernweave::at_border([&] {
    kernweave::solve::Entries numbers = kernweave::entries_from_r(entries);
    const kernweave::solve::Vector all = kernweave::vector_from_r(diagonal);
    const kernweave::solve::RowIndices places = kernweave::solve::all_places(all.size());
    const auto found = kernweave::solve::choose_landmarks(&numbers, places, all, {most, tolerance},
                                                          static_cast<std::uint64_t>(seed));
    kernweave::solve::Block own;
    numbers.block(found.chosen, found.chosen, &own);
    return Rcpp::List::create(
        Rcpp::_["factor"] = kernweave::block_to_r(found.factor), Rcpp::_["landmarks"] = found.chosen,
        Rcpp::_["residual"] = found.residual * static_cast<double>(all.size()) / all.sum(),
        Rcpp::_["lowest"] = found.lowest,
        Rcpp::_["asymmetry"] = own.size() ? (own - own.transpose()).cwiseAbs().maxCoeff() : 0.0);
  });
}

// F of F F', from products with random columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_sketched_factor(Rcpp::List matrix, int most, double tolerance, double trace, double seed) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const auto found = kernweave::solve::sketched(op.get(), {most, tolerance}, trace,
                                                  static_cast<std::uint64_t>(seed), kernweave::poll_r);
    return Rcpp::List::create(Rcpp::_["factor"] = kernweave::block_to_r(found.factor),
                              Rcpp::_["residual"] = found.residual);
  });
}

// Low rank and a diagonal where there is a `shift`, else landmarks and neighbours.
// [[Rcpp::export(rng = false)]]
SEXP r_preconditioner(Rcpp::List description) {
  return kernweave::at_border([&] {
    kernweave::solve::Entries numbers = kernweave::entries_from_r(description["entries"]);
    const kernweave::solve::Vector ridge = kernweave::vector_from_r(description["ridge"]);
    const kernweave::solve::RowIndices landmarks = kernweave::landmarks_from_r(description);
    const int threads = kernweave::allowed_threads(Rcpp::as<int>(description["threads"]));
    if (!Rf_isNull(description["shift"]))
      return kernweave::preconditioner_to_r(
          kernweave::solve::low_rank_preconditioner(&numbers, landmarks, kernweave::vector_from_r(description["shift"]),
                                                    ridge.minCoeff(), threads),
          description);
    return kernweave::preconditioner_to_r(kernweave::solve::landmark_vecchia_preconditioner(
                                              &numbers, landmarks, kernweave::neighbours_from_r(description), ridge,
                                              kernweave::home_from_r(description), threads, kernweave::poll_r),
                                          description);
  });
}

// The inverse of a preconditioner times a matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_precondition(SEXP preconditioner, Rcpp::NumericMatrix x) {
  return kernweave::at_border([&] {
    kernweave::solve::Preconditioner& p = *kernweave::preconditioner_behind(preconditioner);
    kernweave::solve::Columns y;
    p.inverse(kernweave::solve::Columns(kernweave::block_from_r(x)), &y);
    return kernweave::block_to_r(y.block());
  });
}

// `start` of no columns: from zero. `together`: one space for all columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_conjugate_gradients(Rcpp::List matrix, SEXP preconditioner, Rcpp::NumericMatrix b,
                                 Rcpp::NumericMatrix start, double tol, int most, bool together) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const auto from = start.ncol() ? kernweave::block_from_r(start) : kernweave::solve::Block();
    const auto sides = kernweave::block_from_r(b);
    kernweave::solve::Preconditioner* const p = kernweave::preconditioner_behind(preconditioner);
    const kernweave::solve::Limits limits{tol, most, kernweave::threads_of(matrix)};
    const auto found =
        together ? kernweave::solve::block_conjugate_gradients(op.get(), p, sides, from, limits, kernweave::poll_r)
                 : kernweave::solve::conjugate_gradients(op.get(), p, sides, from, limits, kernweave::poll_r);
    Rcpp::List out = kernweave::solution_to_r(found);
    out["smallest"] = p ? kernweave::smallest_ritz_value(found) : R_PosInf;
    return out;
  });
}

// Uniform random numbers of our own generator.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_uniforms(double n, double seed) {
  return kernweave::at_border([&] {
    Rcpp::NumericVector out(static_cast<R_xlen_t>(n));
    for (R_xlen_t k = 0; k < out.size(); ++k)
      out[k] = kernweave::solve::random_uniform(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(k));
    return out;
  });
}

// Solves with a symmetric matrix that need not be definite.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_minimal_residual(Rcpp::List matrix, Rcpp::NumericMatrix b, double tol, int most) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    return kernweave::solution_to_r(
        kernweave::solve::minimal_residual(op.get(), kernweave::block_from_r(b),
                                           {tol, most, kernweave::threads_of(matrix)}, kernweave::poll_r));
  });
}

// `ridge` of no numbers: none. `start` of no columns: from zero.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_least_squares(Rcpp::List matrix, Rcpp::List transposed, Rcpp::NumericVector ridge, Rcpp::NumericMatrix b,
                           Rcpp::NumericMatrix start, double tol, int most) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const auto turned = kernweave::operator_from_r(transposed, kernweave::poll_r);
    const auto sides = kernweave::block_from_r(b);
    const auto from = start.ncol() ? kernweave::block_from_r(start) : kernweave::solve::Block();
    return kernweave::solution_to_r(
        kernweave::solve::least_squares(op.get(), turned.get(), kernweave::vector_from_r(ridge), sides, from,
                                        {tol, most, kernweave::threads_of(matrix)}, kernweave::poll_r));
  });
}

// `start` of no columns: a random block.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_largest_eigenpairs(Rcpp::List matrix, int wanted, int block, double tol, double rounding, int most,
                                double basis, double seed, Rcpp::NumericMatrix start) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const kernweave::solve::EigenLimits limits{wanted,
                                               block,
                                               tol,
                                               rounding,
                                               most,
                                               static_cast<kernweave::solve::Index>(basis),
                                               static_cast<std::uint64_t>(seed)};
    const auto found =
        kernweave::solve::largest_eigenpairs(op.get(), kernweave::block_from_r(start), limits, kernweave::poll_r);
    return Rcpp::List::create(Rcpp::_["values"] = kernweave::vector_to_r(found.values),
                              Rcpp::_["vectors"] = kernweave::block_to_r(found.vectors),
                              Rcpp::_["residuals"] = kernweave::vector_to_r(found.residuals),
                              Rcpp::_["passes"] = found.passes, Rcpp::_["converged"] = found.converged);
  });
}

// y of y y' = A in the mean where x x' is 1 in the mean: G'^-1 (G'AG)^1/2 x, `together` columns at once.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_square_root(Rcpp::List matrix, SEXP preconditioner, Rcpp::NumericMatrix x, double tol, int most,
                         int together) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    kernweave::solve::Preconditioner* const p = kernweave::preconditioner_behind(preconditioner);
    const auto split = p ? kernweave::solve::split_operator(op.get(), p) : nullptr;
    const kernweave::solve::RootLimits limits{tol, most, together, kernweave::threads_of(matrix)};
    auto found = kernweave::solve::square_root_times(split ? split.get() : op.get(), kernweave::block_from_r(x), limits,
                                                     kernweave::poll_r);
    kernweave::solve::Block y;
    if (p) p->back(found.y, &y);
    return Rcpp::List::create(Rcpp::_["y"] = kernweave::block_to_r(p ? y : found.y), Rcpp::_["steps"] = found.steps,
                              Rcpp::_["change"] = kernweave::vector_to_r(found.change),
                              Rcpp::_["products"] = found.products, Rcpp::_["converged"] = found.converged);
  });
}

// b'A^-1 b of each column; a number of `whole` is what it will be taken from, or 0. `quick`: the matrix by quicker
// products, or NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_inverse_forms(Rcpp::List matrix, SEXP quick, SEXP preconditioner, Rcpp::NumericMatrix b,
                           Rcpp::NumericVector whole, double smallest, double tol, int most) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const auto fast = Rf_isNull(quick) ? nullptr : kernweave::operator_from_r(quick, kernweave::poll_r);
    const auto found = kernweave::solve::inverse_forms(
        op.get(), fast.get(), kernweave::preconditioner_behind(preconditioner), kernweave::block_from_r(b),
        kernweave::vector_from_r(whole), smallest, {tol, most, kernweave::threads_of(matrix)}, kernweave::poll_r);
    return Rcpp::List::create(Rcpp::_["value"] = kernweave::vector_to_r(found.value),
                              Rcpp::_["left"] = kernweave::vector_to_r(found.left),
                              Rcpp::_["iterations"] = found.iterations, Rcpp::_["products"] = found.products,
                              Rcpp::_["converged"] = found.converged);
  });
}

// Computes nodes and weights for each column: of a Gauss rule, and of a Radau rule, which bounds from the other side.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_spectral_rules(Rcpp::List matrix, Rcpp::NumericMatrix b, double ridge, double tol, int most) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    const auto found =
        kernweave::solve::spectral_rules(op.get(), kernweave::block_from_r(b), ridge,
                                         {tol, most, kernweave::threads_of(matrix)}, kernweave::poll_r);
    const auto to_r = [](const kernweave::solve::QuadratureRule& rule) {
      return Rcpp::List::create(Rcpp::_["nodes"] = kernweave::vector_to_r(rule.nodes.matrix()),
                                Rcpp::_["weights"] = kernweave::vector_to_r(rule.weights.matrix()));
    };
    Rcpp::List gauss, radau;
    for (const auto& rule : found.gauss) gauss.push_back(to_r(rule));
    for (const auto& rule : found.radau) radau.push_back(to_r(rule));
    return Rcpp::List::create(Rcpp::_["gauss"] = gauss, Rcpp::_["radau"] = radau, Rcpp::_["steps"] = found.steps,
                              Rcpp::_["products"] = found.products);
  });
}
