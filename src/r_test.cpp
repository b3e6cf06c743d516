// Windows into the engine for the tests: facts, and reductions folded in pieces.
#include "border.hpp"

#include <algorithm>

#include "expr/table.hpp"
#include "schedule/facts.hpp"

// [[Rcpp::export(rng = false)]]
Rcpp::List r_facts(Rcpp::NumericMatrix data) {
  const kernweave::View view{data.begin(), data.nrow(), data.ncol()};
  const std::vector<double> centre = kernweave::centre_of(view);
  kernweave::Facts f;
  f.rows = view.rows;
  kernweave::note_range(view, &f);
  kernweave::note_reach(view, centre, &f);
  return Rcpp::List::create(Rcpp::_["rows"] = static_cast<double>(f.rows), Rcpp::_["least"] = f.least,
                            Rcpp::_["largest"] = f.largest, Rcpp::_["finite"] = f.finite, Rcpp::_["centre"] = centre,
                            Rcpp::_["reach"] = f.reach);
}

// One reduction over given numbers, cut into pieces that are folded apart and merged in order: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_fold(std::string op, Rcpp::NumericVector values, Rcpp::NumericVector weights, int K, Rcpp::IntegerVector cuts) {
  return kernweave::at_border([&] {
    kernweave::Red red;
    kernweave::internal_check(kernweave::find_red(op, &red), "no reduction ", op);
    const kernweave::StateRow& row = kernweave::row(red).state;
    const std::size_t words = row.size / sizeof(double) + 2 + static_cast<std::size_t>(row.storage(K)) / sizeof(double);
    struct Piece {
      std::vector<double> state, storage;
    };
    const auto fresh = [&] {
      Piece piece{std::vector<double>(words), std::vector<double>(words)};
      row.init(piece.state.data(), piece.storage.data(), K);
      return piece;
    };
    Piece total = fresh(), piece = fresh();
    for (R_xlen_t k = 0; k < values.size(); ++k) {
      row.step(piece.state.data(), kernweave::Lane(values[k]), kernweave::Lane(weights[k]), k + 1, true);
      row.step(piece.state.data(), kernweave::Lane(-1e6), kernweave::Lane(1.0), k + 1, false);
      if (std::find(cuts.begin(), cuts.end(), static_cast<int>(k) + 1) == cuts.end()) continue;
      row.merge(total.state.data(), piece.state.data());
      piece = fresh();
    }
    row.merge(total.state.data(), piece.state.data());
    std::vector<kernweave::Lane> value(K, kernweave::Lane(0.0));
    std::vector<kernweave::Index> index(K, 0);
    row.finish(total.state.data(), value.data(), index.data());
    Rcpp::NumericVector numbers(K), places(K);
    for (int k = 0; k < K; ++k) {
      numbers[k] = value[k].v;
      places[k] = index[k] == 0 ? NA_REAL : static_cast<double>(index[k]);
    }
    return Rcpp::List::create(Rcpp::_["value"] = numbers, Rcpp::_["index"] = places);
  });
}
