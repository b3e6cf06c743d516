// Windows on formulas: facts of their data, trends and intervals of operations, rules, reductions in pieces.
#include "window.hpp"

#include <algorithm>

#include "expr/course.hpp"
#include "expr/rewrite.hpp"
#include "expr/table.hpp"
#include "r_call.hpp"
#include "schedule/facts.hpp"

namespace kernweave::windows {
namespace {

Rcpp::List facts(Rcpp::NumericMatrix data) {
  const View view{data.begin(), data.nrow(), data.ncol()};
  const std::vector<double> centre = centre_of(view);
  Facts f;
  f.rows = view.rows;
  note_range(view, &f);
  note_reach(view, centre, &f);
  return Rcpp::List::create(Rcpp::_["rows"] = static_cast<double>(f.rows), Rcpp::_["least"] = f.least,
                            Rcpp::_["largest"] = f.largest, Rcpp::_["finite"] = f.finite, Rcpp::_["centre"] = centre,
                            Rcpp::_["reach"] = f.reach);
}

// Returns the trends of an operation's value in each argument, these being from `least` to `most`.
std::vector<std::string> trend(std::string op, std::vector<double> least, std::vector<double> most) {
  Op found{};
  internal_check(find_op(op, &found), "no operation ", op);
  std::vector<Interval> args;
  for (std::size_t k = 0; k < least.size(); ++k) args.emplace_back(least[k], most[k]);
  std::vector<std::string> trends;
  for (const Trend trend : trends_of(found, args).trends) {
    const char* const names[] = {"uneven", "flat", "grows", "falls"};
    trends.push_back(names[static_cast<int>(trend)]);
  }
  return trends;
}

// The interval of an element-wise operation's values, the arguments being from `least` to `most`; and its values: of
// each row of numbers, those of its arguments.
Rcpp::List interval(std::string op, std::vector<double> least, std::vector<double> most, Rcpp::NumericMatrix args) {
  Op found{};
  internal_check(find_op(op, &found), "no operation ", op);
  std::vector<Interval> in;
  for (std::size_t k = 0; k < least.size(); ++k) in.emplace_back(least[k], most[k]);
  const Interval out = bounded(found)(in.data());
  Rcpp::NumericVector values(args.nrow());
  for (int r = 0; r < args.nrow(); ++r) {
    std::vector<Lane> numbers;
    for (int k = 0; k < args.ncol(); ++k) numbers.emplace_back(args(r, k));
    values[r] = row(found).value(numbers.data()).v;
  }
  return Rcpp::List::create(Rcpp::_["least"] = out.least, Rcpp::_["most"] = out.most, Rcpp::_["nan"] = out.nan,
                            Rcpp::_["whole"] = out.whole, Rcpp::_["values"] = values);
}

// One reduction over given numbers, cut into pieces that are folded apart and merged in order.
Rcpp::List fold(std::string op, Rcpp::NumericVector values, Rcpp::NumericVector weights, int K,
                Rcpp::IntegerVector cuts) {
  Red red;
  internal_check(find_red(op, &red), "no reduction ", op);
  const StateRow& row = kernweave::row(red).state;
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
    row.step(piece.state.data(), Lane(values[k]), Lane(weights[k]), k + 1, true);
    row.step(piece.state.data(), Lane(-1e6), Lane(1.0), k + 1, false);
    if (std::find(cuts.begin(), cuts.end(), static_cast<int>(k) + 1) == cuts.end()) continue;
    row.merge(total.state.data(), piece.state.data());
    piece = fresh();
  }
  row.merge(total.state.data(), piece.state.data());
  std::vector<Lane> value(K, Lane(0.0));
  std::vector<Index> index(K, 0);
  row.finish(total.state.data(), value.data(), index.data());
  Rcpp::NumericVector numbers(K), places(K);
  for (int k = 0; k < K; ++k) {
    numbers[k] = value[k].v;
    places[k] = index[k] == 0 ? NA_REAL : static_cast<double>(index[k]);
  }
  return Rcpp::List::create(Rcpp::_["value"] = numbers, Rcpp::_["index"] = places);
}

// A formula by the rules that make it simpler.
SEXP simplify(SEXP formula) {
  Formulas formulas;
  return formulas.write(kernweave::simplify(normalised({formulas.read(formula)}))[0]);
}

// Returns the cost of a formula for every pair, for every row or column, and once.
Rcpp::NumericVector work(SEXP formula) {
  Formulas formulas;
  const auto work = work_of(normalised({formulas.read(formula)})[0]);
  return Rcpp::NumericVector(work.begin(), work.end());
}

const WindowTable of_formulas({window<facts>("facts"), window<trend>("trend"), window<interval>("interval"),
                           window<fold>("fold"), window<simplify>("simplify"), window<work>("work")});

}  // namespace
}  // namespace kernweave::windows
