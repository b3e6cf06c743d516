// Points in the order of a pair map: data are copied in that order, results go back to where they belong.
#pragma once
#include <map>
#include <vector>
#include "execute/plan_run.hpp"

namespace kernweave {

class Ordered {
 public:
  Ordered(ExistingPairs pairs, const Sizes& sizes) : pairs_(std::move(pairs)), sizes_(sizes) {}

  bool any() const { return pairs_.map && !(pairs_.order(true).empty() && pairs_.order(false).empty()); }
  // All that a plan reads along i or j, or the data of one operand.
  void arrange(PlanRun* run) {
    for (std::size_t k = 0; k < run->plan.variables.size(); ++k) arrange(run, k);
  }
  void arrange(PlanRun* run, std::size_t k);
  // Makes room for results in the order of points. put_back() moves the results from there to `results`.
  std::vector<Result> room(const std::vector<Output>& outputs, const std::vector<Result>& results);
  void put_back(const std::vector<Output>& outputs, const std::vector<Result>& results,
                const std::vector<ResultRows::OfOutput>* found = nullptr);
  // Replaces numbers of rows in the order of points by numbers of rows in the data.
  void name(Keep keep, ResultRows::OfOutput* rows) const;

 private:
  struct Room {
    std::vector<double> values, numbers;
  };
  const Order& order_of(bool i) const { return pairs_.order(i); }
  std::int64_t place(bool i, std::int64_t k) const {
    return order_of(i).empty() ? k : order_of(i)[static_cast<std::size_t>(k)];
  }
  std::int64_t place_of_row(Keep keep, std::int64_t row) const;
  // Tells whether the rows of an output are points of i: outputs kept along i, or along both axes.
  static bool rows_along_i(Keep keep) { return keep != Keep::j; }
  Index place_of_number(Keep keep, Index number) const;

  const ExistingPairs pairs_;
  const Sizes sizes_;
  std::map<std::pair<const PlanRun*, std::size_t>, std::vector<double>> copies_;
  std::vector<Room> rooms_;
};

}  // namespace kernweave
