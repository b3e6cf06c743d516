// R's way to log-determinants: quadratic forms of random probes, and what derivatives read of preconditioners.
#include <list>

#include "border.hpp"
#include "r_preconditioner.hpp"
#include "r_resident.hpp"
#include "solve/lanczos.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave {
namespace {

// Residuals of solutions that derivatives read. Matern kernels of 3000 points in two and three dimensions, 10 probes:
// the derivative in the scale is off by 0.01 to 0.3 of its standard error, and by 0.03 to 0.3 where what solutions
// leave is added.
constexpr double kResidualOfVectors = 0.01, kResidualOfCorrected = 0.03;

// G x.
Rcpp::NumericMatrix rooted(solve::Preconditioner* p, solve::Columns x) {
  if (!p) return block_to_r(x.to_host());
  solve::Columns y;
  p->root(x, &y);
  return block_to_r(y.to_host());
}

}  // namespace
}  // namespace kernweave

// Returns for each probe, from number `first` on: w' log(G'AG) w / w'w, its bracket, w'G'AGw / w'w, and the number of
// steps. With `vectors`, for derivatives: u = G x and v = G w, where x is nearly (G'AG)^-1 w. If the diagonal of G'AG
// is 1, the residual of x is added to x: a step of Richardson's iteration, for nothing, and the error is some five
// times less.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_log_forms(Rcpp::List matrix, SEXP preconditioner, int first, int probes, double seed, double tol,
                       int most, bool vectors) {
  return kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(matrix, kernweave::poll_r);
    kernweave::solve::Preconditioner* const p = kernweave::preconditioner_behind(preconditioner);
    const auto split = p ? kernweave::solve::split_operator(op.get(), p) : nullptr;
    const auto signs = kernweave::solve::random_signs(op->rows, probes, static_cast<std::uint64_t>(seed), first);
    const double smallest = p ? p->smallest : 0.0;
    const bool unit = p && p->unit_diagonal();
    const auto enough = [&](const kernweave::solve::Solution& now) {
      return (!vectors ||
              now.history.back() < (unit ? kernweave::kResidualOfCorrected : kernweave::kResidualOfVectors)) &&
             kernweave::solve::settled(kernweave::solve::log_forms(now, smallest), unit);
    };
    const int threads = kernweave::threads_of(matrix);
    const auto solution = kernweave::solve::conjugate_gradients(split ? split.get() : op.get(), nullptr, signs, {},
                                                                {tol, most, threads}, kernweave::poll_r, enough);
    Rcpp::NumericVector value(probes), bracket(probes), firsts(probes);
    const auto forms = kernweave::solve::log_forms(solution, smallest);
    for (int k = 0; k < probes; ++k) {
      const auto& form = forms[static_cast<std::size_t>(k)];
      value[k] = form.value;
      bracket[k] = form.bracket;
      firsts[k] = form.first;
    }
    Rcpp::RObject u = R_NilValue, v = R_NilValue;
    if (vectors) {
      kernweave::solve::Columns x = solution.x, w = kernweave::solve::Columns(signs).sent_to(x.device());
      if (unit && solution.left.cols()) kernweave::solve::add_multiple(&x, solution.left, 1.0, threads);
      u = kernweave::rooted(p, std::move(x));
      v = kernweave::rooted(p, std::move(w));
    }
    return Rcpp::List::create(Rcpp::_["value"] = value, Rcpp::_["bracket"] = bracket, Rcpp::_["first"] = firsts,
                              Rcpp::_["u"] = u, Rcpp::_["v"] = v, Rcpp::_["steps"] = solution.iterations,
                              Rcpp::_["products"] = solution.products, Rcpp::_["logdet"] = p ? p->logdet : 0.0,
                              Rcpp::_["unit"] = unit);
  });
}

// Returns the numbers of a preconditioner with neighbours that the trace of P^-1 dA reads, for some landmarks. The
// parts of all landmarks add up.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_inverse_weights(SEXP preconditioner, int first, int count) {
  return kernweave::at_border([&] {
    kernweave::solve::Preconditioner* const p = kernweave::preconditioner_behind(preconditioner);
    kernweave::solve::InverseWeights found = kernweave::solve::inverse_weights(p, {first, first + count}, p->home());
    return Rcpp::List::create(Rcpp::_["own"] = kernweave::block_to_r(found.own),
                              Rcpp::_["cross"] = kernweave::columns_to_r(std::move(found.cross)),
                              Rcpp::_["diagonal"] = kernweave::vector_to_r(found.diagonal));
  });
}

// Returns the pairs of neighbours and their weights, for `count` points of the order from number `from` on.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_weighted_pairs(SEXP preconditioner, double from, double count) {
  return kernweave::at_border([&] {
    const kernweave::solve::Preconditioner& p = *kernweave::preconditioner_behind(preconditioner);
    auto pairs = kernweave::solve::weighted_pairs(p, static_cast<kernweave::solve::Index>(from),
                                                  static_cast<kernweave::solve::Index>(count), p.home());
    const Rcpp::List description = kernweave::description_behind(preconditioner);
    const auto points = static_cast<double>(Rf_xlength(description["ridge"]));
    const auto places = [&](kernweave::solve::Columns column) {
      const Rcpp::RObject made = kernweave::columns_to_r(std::move(column));
      if (kernweave::Kept* const kept = kernweave::resident(made)) kept->range = kernweave::ValueRange{1, points};
      return made;
    };
    return Rcpp::List::create(Rcpp::_["rows"] = places(std::move(pairs.rows)),
                              Rcpp::_["columns"] = places(std::move(pairs.columns)),
                              Rcpp::_["weights"] = kernweave::columns_to_r(std::move(pairs.weights)));
  });
}

// Sums of the entries of matrices over all pairs of neighbours, weighed so: matrix by matrix where pairs are listed, of
// some points at a time.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_sums_of_pairs(SEXP preconditioner, Rcpp::List matrices) {
  return kernweave::at_border([&] {
    kernweave::solve::Preconditioner* const p = kernweave::preconditioner_behind(preconditioner);
    const Rcpp::List description = kernweave::description_behind(preconditioner);
    const auto points = static_cast<kernweave::solve::Index>(Rf_xlength(description["order"]));
    const auto most = static_cast<double>(Rf_xlength(description["ridge"]));
    std::list<kernweave::solve::Entries> entries;
    for (R_xlen_t k = 0; k < matrices.size(); ++k) entries.push_back(kernweave::entries_from_r(matrices[k]));
    Rcpp::NumericVector sums(matrices.size());
    const auto slots = static_cast<kernweave::solve::Index>(Rf_nrows(description["neighbours"]));
    const kernweave::solve::Index pairs_at_once = (p->home() ? 16384 : 2048) * 496;  // so many points of 30 neighbours
    const kernweave::solve::Index at_once =
        std::max<kernweave::solve::Index>(1, pairs_at_once / ((slots + 1) * (slots + 2) / 2));
    for (kernweave::solve::Index from = 0; from < points; from += at_once) {
      kernweave::poll_r(0.0);
      const auto pairs = kernweave::solve::weighted_pairs(*p, from, std::min(at_once, points - from), p->home());
      for (const auto* places : {&pairs.rows, &pairs.columns})
        if (places->device()) places->kept()->range = kernweave::ValueRange{1, most};
      double* sum = sums.begin();
      for (kernweave::solve::Entries& matrix : entries) {
        kernweave::solve::Columns numbers;
        matrix.pairs(pairs.rows, pairs.columns, &numbers);
        *sum++ += dots(pairs.weights, numbers, matrix.threads())[0];
      }
    }
    return sums;
  });
}

// Returns the numbers of a preconditioner of low rank that the trace of (P^-1 - V V'/p) dP reads.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_low_rank_weights(SEXP preconditioner, Rcpp::NumericMatrix v) {
  return kernweave::at_border([&] {
    const kernweave::solve::Preconditioner* p = kernweave::preconditioner_behind(preconditioner);
    const Rcpp::List description = kernweave::description_behind(preconditioner);
    kernweave::solve::Entries numbers = kernweave::entries_from_r(description["entries"]);
    const auto found = kernweave::solve::low_rank_weights(&numbers, *p, kernweave::landmarks_from_r(description),
                                                          kernweave::block_from_r(v));
    return Rcpp::List::create(Rcpp::_["own"] = kernweave::block_to_r(found.own),
                              Rcpp::_["cross"] = kernweave::block_to_r(found.cross),
                              Rcpp::_["diagonal"] = kernweave::vector_to_r(found.diagonal));
  });
}

// The trace of the inverse of a preconditioner of low rank.
// [[Rcpp::export(rng = false)]]
double r_low_rank_inverse_trace(SEXP preconditioner) {
  return kernweave::at_border([&] {
    const kernweave::solve::Preconditioner* p = kernweave::preconditioner_behind(preconditioner);
    const Rcpp::List description = kernweave::description_behind(preconditioner);
    kernweave::solve::Entries numbers = kernweave::entries_from_r(description["entries"]);
    return kernweave::solve::low_rank_inverse_trace(&numbers, *p, kernweave::landmarks_from_r(description));
  });
}
