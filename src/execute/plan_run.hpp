// One plan on data: what is decided of it, and what carries that out.
#pragma once
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include "execute/data.hpp"
#include "execute/prepared.hpp"

namespace kernweave {

// The settings of a call.
struct Settings {
  std::string device = "auto";
  int threads = 0;                                             // at most; 0 lets the engine decide
  double gpu_bytes = std::numeric_limits<double>::infinity();  // the most it may take of a GPU's memory
  Boxes boxes = Boxes::trial;                                  // where they may be
  int folded = 0;                                              // of the outer axes, as many at the end are folded
};

// One plan of a call (the sums, what comes after them, or all at once) at sizes that are known.
class PlanRun {
 public:
  // `boxes`: how far they are wanted, where they may be.
  PlanRun(const Plan& plan, const Sizes& sizes, const std::vector<OperandData>& operands, Host* host,
          Boxes boxes = Boxes::none)
      : plan(plan), sizes(sizes), data(plan, operands, host), boxes_(boxes) {}

  Schedule best(const std::string& device);
  // The best when it is first asked for, and again after reconsider().
  const Schedule& schedule(const std::string& device);
  void reconsider() { executable_ = nullptr, decided_ = false; }
  // Lists the schedules that could be chosen; take() adopts a decision made here or elsewhere.
  std::vector<Schedule> candidates(const std::string& device);
  void take(const Decision& decision, const std::string& device);
  // Adopts what a trial has found: boxes or not.
  void settle(bool boxes);
  // Once there is a schedule. Of boxes it says what a trial has found, if there was one.
  Decision decision() const;
  const Backend& backend() const { return backend_named(chosen_.decision.backend); }
  // Shall results stay on a device? Where the data of the call do, and what computes them holds data.
  bool stays() const { return backend().holds_data() && data.resident(); }
  // Returns the executable of the chosen schedule; task() returns the task of one run.
  const std::shared_ptr<Executable>& executable(Prepared* prepared, Host* host);
  Task task(const Settings& settings, Host* host, std::vector<Result> results, std::int64_t run = 0);
  void run(Prepared* prepared, Host* host, const std::vector<Task>& tasks);
  // No, having done nothing, where boxes are not decided on, or a trial tells that they do not pay.
  bool run_by_boxes(Prepared* prepared, Host* host, const Task& task);

  const Plan& plan;
  const Sizes sizes;
  Data data;

 private:
  void carry_out(Schedule schedule);

  const Boxes boxes_;
  Schedule chosen_;
  bool decided_ = false;
  Boxes found_ = Boxes::none;  // as decided, or by the trial of the last run
  std::shared_ptr<Executable> executable_;
};

}  // namespace kernweave
