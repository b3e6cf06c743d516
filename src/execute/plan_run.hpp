// One plan on data: its decision, its executable, and points in the order of a pair map.
#pragma once
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "execute/data.hpp"
#include "execute/kept_plan.hpp"

namespace kernweave {

// The settings of a call.
struct Settings {
  std::string device = "auto";
  int threads = 0;                                             // at most; 0 lets the engine decide
  double gpu_bytes = std::numeric_limits<double>::infinity();  // the most memory of a GPU that it may take
  Boxes boxes = Boxes::trial;                                  // if the formula allows boxes
  int folded = 0;                                              // number of the last outer axes that are folded
};

// One plan of a call (of one step, or of the first or second of two) at known sizes.
class PlanRun {
 public:
  // `boxes`: whether boxes are wanted if the formula allows them.
  PlanRun(const Plan& plan, const Sizes& sizes, const std::vector<OperandData>& operands, Host* host,
          Boxes boxes = Boxes::none)
      : plan(plan), sizes(sizes), data(plan, operands, host), boxes_(boxes) {}

  Schedule best(const std::string& device);
  // Returns the chosen schedule; chooses the best at the first call, and again after reconsider().
  const Schedule& schedule(const std::string& device);
  void reconsider() { executable_ = nullptr, decided_ = false; }
  // Lists the schedules that could be chosen; take() adopts a decision made here or elsewhere.
  std::vector<Schedule> candidates(const std::string& device);
  void take(const Decision& decision, const std::string& device);
  // Adopts the result of a trial: boxes or not.
  void settle(bool boxes);
  // Returns the decision of the chosen schedule, with the boxes that the last trial has found, if there was one.
  Decision decision() const;
  const Backend& backend() const { return backend_named(chosen_.decision.backend); }
  // Tells whether results stay on a device: if the data of the call do, and the back end holds data.
  bool stays() const { return backend().holds_data() && data.resident(); }
  // Returns the executable of the chosen schedule; task() returns the task of one run.
  const std::shared_ptr<Executable>& executable(KeptPlan* kept, Host* host);
  Task task(const Settings& settings, Host* host, std::vector<Result> results, std::int64_t run = 0);
  // Tells whether boxes are decided on. pays() holds a trial too, and lets the task use boxes if they save time.
  bool may_go_by_boxes() const { return chosen_.decision.loops.boxes != Boxes::none; }
  bool pays(KeptPlan* kept, Host* host, Task* task);

  const Plan& plan;
  const Sizes sizes;
  Data data;

 private:
  void carry_out(Schedule schedule);

  const Boxes boxes_;
  Schedule chosen_;
  bool decided_ = false;
  Boxes found_ = Boxes::none;  // of the decision, or of the trial of the last run
  std::shared_ptr<Executable> executable_;
};

// Points in the order of a pair map: data are copied in that order, results are moved back to the order of the data.
class Ordered {
 public:
  Ordered(ExistingPairs pairs, const Sizes& sizes) : pairs_(std::move(pairs)), sizes_(sizes) {}

  bool any() const { return pairs_.map && !(pairs_.order(true).empty() && pairs_.order(false).empty()); }
  // Puts all data that a plan reads along i or j, or one variable's data, into the order of points.
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
