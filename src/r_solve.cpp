// Doors to solvers: landmarks, preconditioners, systems, eigenpairs, quadratic forms, log-determinants.
#include "r_solve.hpp"

#include <list>

#include "base/threads.hpp"
#include "solve/block_krylov.hpp"
#include "solve/lanczos.hpp"
#include "solve/landmarks.hpp"

namespace kernweave {
namespace {

// Returns the smallest eigenvalue of the iterated matrix, as the iteration saw it; infinite if there was no step.
double smallest_ritz_value(const solve::Solution& solution) {
  double smallest = R_PosInf;
  for (const solve::Coefficients& numbers : solution.coefficients)
    if (!numbers.step.empty()) smallest = std::min(smallest, solve::smallest_value(solve::tridiagonal(numbers)));
  return smallest;
}

List solution_to_r(const solve::Solution& solution) {
  using Ending = solve::Solution::Ending;
  const std::string end = solution.end == Ending::cap        ? "cap"
                          : solution.end == Ending::stagnant ? "stagnant"
                                                             : "converged";
  return listed({"x", "iterations", "residual", "history", "products", "end"}, solution.x.to_host(),
                solution.iterations, solution.residual, solution.history, solution.products, end);
}

// Residuals of solutions that derivatives read. Matern kernels of 3000 points in two and three dimensions, 10 probes:
// the error of the derivative in the scale is 0.01 to 0.3 of its standard error, and 0.03 to 0.3 if the residual of
// solutions is added.
constexpr double kResidualOfVectors = 0.01, kResidualOfCorrected = 0.03;

}  // namespace

// [[Rcpp::export(rng = false)]]
List r_landmarks(solve::Entries entries, RowIndices among, Vector diagonal, int most, std::uint64_t seed) {
  const auto found = solve::choose_landmarks(&entries, among, diagonal, {most}, seed);
  return listed({"chosen", "residual"}, found.chosen, found.residual);
}

// Returns F of F F', from landmarks among all points; `residual` is the rest of the trace.
// [[Rcpp::export(rng = false)]]
List r_landmark_factor(solve::Entries entries, Vector diagonal, int most, double tolerance, std::uint64_t seed) {
  const RowIndices places = solve::all_places(diagonal.size());
  const auto found = solve::choose_landmarks(&entries, places, diagonal, {most, tolerance}, seed);
  Block own;
  entries.block(found.chosen, found.chosen, &own);
  const double residual = found.residual * static_cast<double>(diagonal.size()) / diagonal.sum();
  const double asymmetry = own.size() ? (own - own.transpose()).cwiseAbs().maxCoeff() : 0.0;
  return listed({"factor", "landmarks", "residual", "lowest", "asymmetry"}, found.factor, found.chosen, residual,
                found.lowest, asymmetry);
}

// Returns F of F F', from products with random columns.
// [[Rcpp::export(rng = false)]]
List r_sketched_factor(ROperator matrix, int most, double tolerance, double trace, std::uint64_t seed) {
  const auto found = solve::sketched(matrix.get(), {most, tolerance}, trace, seed, poll_r);
  return listed({"factor", "residual"}, found.factor, found.residual);
}

// Multiplies a matrix by the inverse of a preconditioner.
// [[Rcpp::export(rng = false)]]
Block r_precondition(RPreconditioner p, Block x) {
  Columns y;
  p->inverse(Columns(x), &y);
  return y.block();
}

// A `start` of no columns is zero. `together`: one space for all columns.
// [[Rcpp::export(rng = false)]]
List r_conjugate_gradients(ROperator matrix, RPreconditioner p, Block b, Block start, double tol, int most,
                           bool together) {
  const auto limits = matrix.limits(tol, most);
  const auto found = together ? solve::block_conjugate_gradients(matrix.get(), p.get(), b, start, limits, poll_r)
                              : solve::conjugate_gradients(matrix.get(), p.get(), b, start, limits, poll_r);
  List out = solution_to_r(found);
  out["smallest"] = p ? smallest_ritz_value(found) : R_PosInf;
  return out;
}

// Returns uniform random numbers of our own generator.
// [[Rcpp::export(rng = false)]]
NumericVector r_uniforms(double n, std::uint64_t seed) {
  NumericVector out(static_cast<R_xlen_t>(n));
  for (R_xlen_t k = 0; k < out.size(); ++k)
    out[k] = solve::random_uniform(seed, static_cast<std::uint64_t>(k));
  return out;
}

// Solves with a symmetric matrix that need not be definite.
// [[Rcpp::export(rng = false)]]
List r_minimal_residual(ROperator matrix, Block b, double tol, int most) {
  return solution_to_r(solve::minimal_residual(matrix.get(), b, matrix.limits(tol, most), poll_r));
}

// A `ridge` of no numbers is no ridge. A `start` of no columns is zero.
// [[Rcpp::export(rng = false)]]
List r_least_squares(ROperator matrix, ROperator transposed, Vector ridge, Block b, Block start, double tol, int most) {
  return solution_to_r(
      solve::least_squares(matrix.get(), transposed.get(), ridge, b, start, matrix.limits(tol, most), poll_r));
}

// A `start` of no columns is a random block.
// [[Rcpp::export(rng = false)]]
List r_largest_eigenpairs(ROperator matrix, int wanted, int block, double tol, double rounding, int most,
                          solve::Index basis, std::uint64_t seed, Block start) {
  const solve::EigenLimits limits{wanted, block, tol, rounding, most, basis, seed};
  const auto found = solve::largest_eigenpairs(matrix.get(), start, limits, poll_r);
  return listed({"values", "vectors", "residuals", "passes", "converged"}, found.values, found.vectors, found.residuals,
                found.passes, found.converged);
}

// Returns y = G'^-1 (G'AG)^1/2 x, `together` columns at once: y y' has mean A if x x' has mean 1.
// [[Rcpp::export(rng = false)]]
List r_square_root(ROperator matrix, RPreconditioner p, Block x, double tol, int most, int together) {
  const auto split = p ? solve::split_operator(matrix.get(), p.get()) : nullptr;
  const solve::RootLimits limits{tol, most, together, matrix.threads};
  auto found = solve::square_root_times(split ? split.get() : matrix.get(), x, limits, poll_r);
  Block y = found.y;
  if (p) p->back(found.y, &y);
  return listed({"y", "steps", "change", "products", "converged"}, y, found.steps, found.change, found.products,
                found.converged);
}

// Computes b'A^-1 b for each column; `whole`: the number from which it will be subtracted, or 0. `quick` may be NULL.
// [[Rcpp::export(rng = false)]]
List r_inverse_forms(ROperator matrix, ROperator quick, RPreconditioner p, Block b, Vector whole, double smallest,
                     double tol, int most) {
  const auto found = solve::inverse_forms(matrix.get(), quick.get(), p.get(), b, whole, smallest,
                                          matrix.limits(tol, most), poll_r);
  return listed({"value", "left", "iterations", "products", "converged"}, found.value, found.left, found.iterations,
                found.products, found.converged);
}

// Computes nodes and weights for each column: of a Gauss rule, and of a Radau rule, which bounds from the other side.
// [[Rcpp::export(rng = false)]]
List r_spectral_rules(ROperator matrix, Block b, double ridge, double tol, int most) {
  const auto found = solve::spectral_rules(matrix.get(), b, ridge, matrix.limits(tol, most), poll_r);
  const auto to_r = [](const std::vector<solve::QuadratureRule>& rules) {
    List all;
    for (const solve::QuadratureRule& rule : rules) {
      const Vector nodes = rule.nodes, weights = rule.weights;
      all.push_back(listed({"nodes", "weights"}, nodes, weights));
    }
    return all;
  };
  const List gauss = to_r(found.gauss), radau = to_r(found.radau);
  return listed({"gauss", "radau", "steps", "products"}, gauss, radau, found.steps, found.products);
}

// Returns for each probe, from number `first` on: w' log(G'AG) w / w'w, its bracket, w'G'AGw / w'w, and the number of
// steps. With `vectors`, for derivatives: u = G x and v = G w, where x is nearly (G'AG)^-1 w. If the diagonal of G'AG
// is 1, the residual of x is added to x: this step of Richardson's iteration is free, and leaves a fifth of the error.
// [[Rcpp::export(rng = false)]]
List r_log_forms(ROperator matrix, RPreconditioner p, int first, int probes, std::uint64_t seed, double tol, int most,
                 bool vectors) {
  const auto split = p ? solve::split_operator(matrix.get(), p.get()) : nullptr;
  const auto signs = solve::random_signs(matrix.op->rows, probes, seed, first);
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
  RObject u, v;
  if (vectors) {
    const auto rooted = [&](const Columns& x) {
      Columns y;
      if (p) p->root(x, &y);
      return wrap((p ? y : x).to_host());
    };
    Columns x = solution.x;
    if (unit && solution.left.cols()) solve::add_multiple(&x, solution.left, 1.0, matrix.threads);
    u = rooted(x);
    v = rooted(Columns(signs).sent_to(x.device()));
  }
  return List::create(_["value"] = column(forms, &Form::value), _["bracket"] = column(forms, &Form::bracket),
                      _["first"] = column(forms, &Form::first), _["u"] = u, _["v"] = v,
                      _["steps"] = solution.iterations, _["products"] = solution.products,
                      _["logdet"] = p ? p->logdet : 0.0, _["unit"] = unit);
}

// Returns random numbers z for the levels of a preconditioner with grouped effects, and P^-1 V z.
// [[Rcpp::export(rng = false)]]
List r_level_probes(RPreconditioner p, int first, int probes, std::uint64_t seed) {
  const auto found = solve::level_probes(p.get(), probes, seed, first);
  return listed({"levels", "rows"}, found.levels, found.rows);
}

// Solves with the matrix C of the levels of a preconditioner with grouped effects.
// [[Rcpp::export(rng = false)]]
Block r_level_inverse(RPreconditioner p, Block x) { return solve::level_inverse(p.get(), x); }

// Returns the numbers of a preconditioner with neighbours that the trace of P^-1 dA reads, for some landmarks. The
// parts of all landmarks add up.
// [[Rcpp::export(rng = false)]]
List r_inverse_weights(RPreconditioner p, int first, int count) {
  solve::InverseWeights found = solve::inverse_weights(p.get(), {first, first + count}, p->home());
  const RObject cross = columns_to_r(std::move(found.cross));
  return listed({"own", "cross", "diagonal"}, found.own, cross, found.diagonal);
}

// Returns the pairs of neighbours and their weights, for `count` points of the order from number `from` on.
// [[Rcpp::export(rng = false)]]
List r_weighted_pairs(RPreconditioner p, solve::Index from, solve::Index count) {
  auto pairs = solve::weighted_pairs(*p.get(), from, count, p->home());
  const RObject rows = columns_to_r(std::move(pairs.rows)), columns = columns_to_r(std::move(pairs.columns));
  const RObject weights = columns_to_r(std::move(pairs.weights));
  return listed({"rows", "columns", "weights"}, rows, columns, weights);
}

// Returns weighted sums of the entries of matrices over all pairs of neighbours, for some points at a time.
// [[Rcpp::export(rng = false)]]
NumericVector r_sums_of_pairs(RPreconditioner p, List matrices) {
  const auto points = static_cast<solve::Index>(Rf_xlength(p.description["order"]));
  const auto slots = static_cast<solve::Index>(Rf_nrows(p.description["neighbours"]));
  std::list<solve::Entries> entries;
  for (const RObject matrix : matrices) entries.push_back(as<solve::Entries>(matrix));
  NumericVector sums(matrices.size());
  const solve::Index pairs_at_once = (p->home() ? 16384 : 2048) * 496;  // pairs of that many points with 30 neighbours
  const solve::Index at_once = std::max<solve::Index>(1, pairs_at_once / ((slots + 1) * (slots + 2) / 2));
  for (solve::Index from = 0; from < points; from += at_once) {
    poll_r(0.0);
    const auto pairs = solve::weighted_pairs(*p.get(), from, std::min(at_once, points - from), p->home());
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
List r_low_rank_weights(RPreconditioner p, Block v) {
  auto entries = as<solve::Entries>(p.description["entries"]);
  const auto found = solve::low_rank_weights(&entries, *p.get(), landmarks_from_r(p.description), v);
  return listed({"own", "cross", "diagonal"}, found.own, found.cross, found.diagonal);
}

// Returns the trace of the inverse of a preconditioner of low rank.
// [[Rcpp::export(rng = false)]]
double r_low_rank_inverse_trace(RPreconditioner p) {
  auto entries = as<solve::Entries>(p.description["entries"]);
  return solve::low_rank_inverse_trace(&entries, *p.get(), landmarks_from_r(p.description));
}

}  // namespace kernweave
