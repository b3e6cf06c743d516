// Doors to what solves: landmarks, preconditioners, systems, eigenpairs, quadratic forms, log-determinants.
#include "r_solve.hpp"

#include <algorithm>
#include <list>

#include "base/threads.hpp"
#include "solve/block_krylov.hpp"
#include "solve/lanczos.hpp"
#include "solve/landmarks.hpp"

namespace kernweave {
namespace {

std::uint64_t bits_of(double seed) { return static_cast<std::uint64_t>(seed); }

// The smallest eigenvalue of what was iterated with, as the iteration saw it; infinite where it took no step.
double smallest_ritz_value(const solve::Solution& solution) {
  double smallest = R_PosInf;
  for (const solve::Coefficients& numbers : solution.coefficients)
    if (!numbers.step.empty()) smallest = std::min(smallest, solve::smallest_value(solve::tridiagonal(numbers)));
  return smallest;
}

List solution_to_r(const solve::Solution& solution) {
  using Ending = solve::Solution::Ending;
  const char* const end = solution.end == Ending::cap        ? "cap"
                          : solution.end == Ending::stagnant ? "stagnant"
                                                             : "converged";
  return List::create(_["x"] = solution.x.to_host(), _["iterations"] = solution.iterations,
                      _["residual"] = solution.residual, _["history"] = solution.history,
                      _["products"] = solution.products, _["end"] = end);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
List r_landmarks(solve::Entries entries, RowIndices among, Vector diagonal, int most, double seed) {
  const auto found = solve::choose_landmarks(&entries, among, diagonal, {most}, bits_of(seed));
  return List::create(_["chosen"] = found.chosen, _["residual"] = found.residual);
}

// F of F F', from the landmarks of all points; `residual` is what they leave of the trace.
// [[Rcpp::export(rng = false)]]
List r_landmark_factor(solve::Entries entries, Vector diagonal, int most, double tolerance, double seed) {
  const RowIndices places = solve::all_places(diagonal.size());
  const auto found = solve::choose_landmarks(&entries, places, diagonal, {most, tolerance}, bits_of(seed));
  Block own;
  entries.block(found.chosen, found.chosen, &own);
  return List::create(_["factor"] = found.factor, _["landmarks"] = found.chosen,
                      _["residual"] = found.residual * static_cast<double>(diagonal.size()) / diagonal.sum(),
                      _["lowest"] = found.lowest,
                      _["asymmetry"] = own.size() ? (own - own.transpose()).cwiseAbs().maxCoeff() : 0.0);
}

// F of F F', from products with random columns.
// [[Rcpp::export(rng = false)]]
List r_sketched_factor(ROperator matrix, int most, double tolerance, double trace, double seed) {
  const auto found = solve::sketched(matrix.get(), {most, tolerance}, trace, bits_of(seed), poll_r);
  return List::create(_["factor"] = found.factor, _["residual"] = found.residual);
}

// The inverse of a preconditioner times a matrix.
// [[Rcpp::export(rng = false)]]
Block r_precondition(SEXP preconditioner, Block x) {
  Columns y;
  preconditioner_behind(preconditioner)->inverse(Columns(x), &y);
  return y.block();
}

// `start` of no columns: from zero. `together`: one space for all columns.
// [[Rcpp::export(rng = false)]]
List r_conjugate_gradients(ROperator matrix, SEXP preconditioner, Block b, Block start, double tol, int most,
                           bool together) {
  solve::Preconditioner* const p = preconditioner_behind(preconditioner);
  const auto limits = matrix.limits(tol, most);
  const auto found = together ? solve::block_conjugate_gradients(matrix.get(), p, b, start, limits, poll_r)
                              : solve::conjugate_gradients(matrix.get(), p, b, start, limits, poll_r);
  List out = solution_to_r(found);
  out["smallest"] = p ? smallest_ritz_value(found) : R_PosInf;
  return out;
}

// Uniform random numbers of our own generator.
// [[Rcpp::export(rng = false)]]
NumericVector r_uniforms(double n, double seed) {
  NumericVector out(static_cast<R_xlen_t>(n));
  for (R_xlen_t k = 0; k < out.size(); ++k)
    out[k] = solve::random_uniform(bits_of(seed), static_cast<std::uint64_t>(k));
  return out;
}

// Solves with a symmetric matrix that need not be definite.
// [[Rcpp::export(rng = false)]]
List r_minimal_residual(ROperator matrix, Block b, double tol, int most) {
  return solution_to_r(solve::minimal_residual(matrix.get(), b, matrix.limits(tol, most), poll_r));
}

// `ridge` of no numbers: none. `start` of no columns: from zero.
// [[Rcpp::export(rng = false)]]
List r_least_squares(ROperator matrix, ROperator transposed, Vector ridge, Block b, Block start, double tol, int most) {
  return solution_to_r(
      solve::least_squares(matrix.get(), transposed.get(), ridge, b, start, matrix.limits(tol, most), poll_r));
}

// `start` of no columns: a random block.
// [[Rcpp::export(rng = false)]]
List r_largest_eigenpairs(ROperator matrix, int wanted, int block, double tol, double rounding, int most, double basis,
                          double seed, Block start) {
  const solve::EigenLimits limits{wanted, block, tol, rounding, most, static_cast<solve::Index>(basis), bits_of(seed)};
  const auto found = solve::largest_eigenpairs(matrix.get(), start, limits, poll_r);
  return List::create(_["values"] = found.values, _["vectors"] = found.vectors, _["residuals"] = found.residuals,
                      _["passes"] = found.passes, _["converged"] = found.converged);
}

// y of y y' = A in the mean where x x' is 1 in the mean: G'^-1 (G'AG)^1/2 x, `together` columns at once.
// [[Rcpp::export(rng = false)]]
List r_square_root(ROperator matrix, SEXP preconditioner, Block x, double tol, int most, int together) {
  solve::Preconditioner* const p = preconditioner_behind(preconditioner);
  const auto split = p ? solve::split_operator(matrix.get(), p) : nullptr;
  const solve::RootLimits limits{tol, most, together, matrix.threads};
  auto found = solve::square_root_times(split ? split.get() : matrix.get(), x, limits, poll_r);
  Block y;
  if (p) p->back(found.y, &y);
  return List::create(_["y"] = p ? y : found.y, _["steps"] = found.steps, _["change"] = found.change,
                      _["products"] = found.products, _["converged"] = found.converged);
}

// b'A^-1 b of each column; a number of `whole` is what it will be taken from, or 0. `quick`: the matrix by quicker
// products, or NULL.
// [[Rcpp::export(rng = false)]]
List r_inverse_forms(ROperator matrix, SEXP quick, SEXP preconditioner, Block b, Vector whole, double smallest,
                     double tol, int most) {
  const auto fast = Rf_isNull(quick) ? nullptr : operator_from_r(quick, poll_r);
  const auto found = solve::inverse_forms(matrix.get(), fast.get(), preconditioner_behind(preconditioner), b, whole,
                                          smallest, matrix.limits(tol, most), poll_r);
  return List::create(_["value"] = found.value, _["left"] = found.left, _["iterations"] = found.iterations,
                      _["products"] = found.products, _["converged"] = found.converged);
}

// Computes nodes and weights for each column: of a Gauss rule, and of a Radau rule, which bounds from the other side.
// [[Rcpp::export(rng = false)]]
List r_spectral_rules(ROperator matrix, Block b, double ridge, double tol, int most) {
  const auto found = solve::spectral_rules(matrix.get(), b, ridge, matrix.limits(tol, most), poll_r);
  const auto to_r = [](const std::vector<solve::QuadratureRule>& rules) {
    List all;
    for (const solve::QuadratureRule& rule : rules)
      all.push_back(List::create(_["nodes"] = Vector(rule.nodes), _["weights"] = Vector(rule.weights)));
    return all;
  };
  return List::create(_["gauss"] = to_r(found.gauss), _["radau"] = to_r(found.radau), _["steps"] = found.steps,
                      _["products"] = found.products);
}

// --- log-determinants: quadratic forms of random probes, and what derivatives read of preconditioners ---------------

namespace {

// Residuals of solutions that derivatives read. Matern kernels of 3000 points in two and three dimensions, 10 probes:
// the derivative in the scale is off by 0.01 to 0.3 of its standard error, and by 0.03 to 0.3 where what solutions
// leave is added.
constexpr double kResidualOfVectors = 0.01, kResidualOfCorrected = 0.03;

// G x.
Block rooted(solve::Preconditioner* p, Columns x) {
  if (!p) return x.to_host();
  Columns y;
  p->root(x, &y);
  return y.to_host();
}

}  // namespace

// Returns for each probe, from number `first` on: w' log(G'AG) w / w'w, its bracket, w'G'AGw / w'w, and the number of
// steps. With `vectors`, for derivatives: u = G x and v = G w, where x is nearly (G'AG)^-1 w. If the diagonal of G'AG
// is 1, the residual of x is added to x: a step of Richardson's iteration, for nothing, and the error is some five
// times less.
// [[Rcpp::export(rng = false)]]
List r_log_forms(ROperator matrix, SEXP preconditioner, int first, int probes, double seed, double tol, int most,
                 bool vectors) {
  solve::Preconditioner* const p = preconditioner_behind(preconditioner);
  const auto split = p ? solve::split_operator(matrix.get(), p) : nullptr;
  const auto signs = solve::random_signs(matrix.op->rows, probes, bits_of(seed), first);
  const double smallest = p ? p->smallest : 0.0;
  const bool unit = p && p->unit_diagonal();
  const auto enough = [&](const solve::Solution& now) {
    return (!vectors || now.history.back() < (unit ? kResidualOfCorrected : kResidualOfVectors)) &&
           solve::settled(solve::log_forms(now, smallest), unit);
  };
  const auto solution = solve::conjugate_gradients(split ? split.get() : matrix.get(), nullptr, signs, {},
                                                   matrix.limits(tol, most), poll_r, enough);
  const auto forms = solve::log_forms(solution, smallest);
  using Form = std::decay_t<decltype(forms[0])>;
  RObject u = R_NilValue, v = R_NilValue;
  if (vectors) {
    Columns x = solution.x, w = Columns(signs).sent_to(x.device());
    if (unit && solution.left.cols()) solve::add_multiple(&x, solution.left, 1.0, matrix.threads);
    u = wrap(rooted(p, std::move(x)));
    v = wrap(rooted(p, std::move(w)));
  }
  return List::create(_["value"] = column(forms, &Form::value), _["bracket"] = column(forms, &Form::bracket),
                      _["first"] = column(forms, &Form::first), _["u"] = u, _["v"] = v,
                      _["steps"] = solution.iterations, _["products"] = solution.products,
                      _["logdet"] = p ? p->logdet : 0.0, _["unit"] = unit);
}

// Returns the numbers of a preconditioner with neighbours that the trace of P^-1 dA reads, for some landmarks. The
// parts of all landmarks add up.
// [[Rcpp::export(rng = false)]]
List r_inverse_weights(SEXP preconditioner, int first, int count) {
  solve::Preconditioner* const p = preconditioner_behind(preconditioner);
  solve::InverseWeights found = solve::inverse_weights(p, {first, first + count}, p->home());
  return List::create(_["own"] = found.own, _["cross"] = columns_to_r(std::move(found.cross)),
                      _["diagonal"] = found.diagonal);
}

// Returns the pairs of neighbours and their weights, for `count` points of the order from number `from` on.
// [[Rcpp::export(rng = false)]]
List r_weighted_pairs(SEXP preconditioner, double from, double count) {
  const solve::Preconditioner& p = *preconditioner_behind(preconditioner);
  auto pairs = solve::weighted_pairs(p, static_cast<solve::Index>(from), static_cast<solve::Index>(count), p.home());
  const auto points = static_cast<double>(Rf_xlength(description_behind(preconditioner)["ridge"]));
  const auto places = [&](Columns column) {
    const RObject made = columns_to_r(std::move(column));
    if (Kept* const kept = resident(made)) kept->range = ValueRange{1, points};
    return made;
  };
  return List::create(_["rows"] = places(std::move(pairs.rows)), _["columns"] = places(std::move(pairs.columns)),
                      _["weights"] = columns_to_r(std::move(pairs.weights)));
}

// Sums of the entries of matrices over all pairs of neighbours, weighed so: matrix by matrix where pairs are listed, of
// some points at a time.
// [[Rcpp::export(rng = false)]]
NumericVector r_sums_of_pairs(SEXP preconditioner, List matrices) {
  solve::Preconditioner* const p = preconditioner_behind(preconditioner);
  const List description = description_behind(preconditioner);
  const auto points = static_cast<solve::Index>(Rf_xlength(description["order"]));
  const auto most = static_cast<double>(Rf_xlength(description["ridge"]));
  std::list<solve::Entries> entries;
  for (R_xlen_t k = 0; k < matrices.size(); ++k) entries.push_back(as<solve::Entries>(matrices[k]));
  NumericVector sums(matrices.size());
  const auto slots = static_cast<solve::Index>(Rf_nrows(description["neighbours"]));
  const solve::Index pairs_at_once = (p->home() ? 16384 : 2048) * 496;  // so many points of 30 neighbours
  const solve::Index at_once = std::max<solve::Index>(1, pairs_at_once / ((slots + 1) * (slots + 2) / 2));
  for (solve::Index from = 0; from < points; from += at_once) {
    poll_r(0.0);
    const auto pairs = solve::weighted_pairs(*p, from, std::min(at_once, points - from), p->home());
    for (const auto* places : {&pairs.rows, &pairs.columns})
      if (places->device()) places->kept()->range = ValueRange{1, most};
    double* sum = sums.begin();
    for (solve::Entries& matrix : entries) {
      Columns numbers;
      matrix.pairs(pairs.rows, pairs.columns, &numbers);
      *sum++ += dots(pairs.weights, numbers, matrix.threads())[0];
    }
  }
  return sums;
}

// Returns the numbers of a preconditioner of low rank that the trace of (P^-1 - V V'/p) dP reads.
// [[Rcpp::export(rng = false)]]
List r_low_rank_weights(SEXP preconditioner, Block v) {
  const solve::Preconditioner* p = preconditioner_behind(preconditioner);
  const List description = description_behind(preconditioner);
  auto entries = as<solve::Entries>(description["entries"]);
  const auto found = solve::low_rank_weights(&entries, *p, landmarks_from_r(description), v);
  return List::create(_["own"] = found.own, _["cross"] = found.cross, _["diagonal"] = found.diagonal);
}

// The trace of the inverse of a preconditioner of low rank.
// [[Rcpp::export(rng = false)]]
double r_low_rank_inverse_trace(SEXP preconditioner) {
  const solve::Preconditioner* p = preconditioner_behind(preconditioner);
  const List description = description_behind(preconditioner);
  auto entries = as<solve::Entries>(description["entries"]);
  return solve::low_rank_inverse_trace(&entries, *p, landmarks_from_r(description));
}

}  // namespace kernweave
