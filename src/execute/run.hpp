// A plan on data. What sizes and facts decide is decided at the first run; the next ones only compute.
#pragma once
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include "execute/data.hpp"
#include "execute/prepared.hpp"
#include "schedule/facts.hpp"

namespace kernweave {

// What holds for a call.
struct Settings {
  std::string device = "auto";
  int threads = 0;                                             // at most; 0 lets the engine decide
  double gpu_bytes = std::numeric_limits<double>::infinity();  // the most it may take of a GPU's memory
  Boxes boxes = Boxes::trial;                                  // where they may be
};

// One plan of a call (the sums, what comes after them, or all at once) at sizes that are known.
class PlanRun {
 public:
  PlanRun(const Plan& plan, const Sizes& sizes, const std::vector<OperandData>& operands, Host* host)
      : plan(plan), sizes(sizes), data(plan, operands, host) {}

  // Chosen when it is first asked for, and again after reconsider().
  const Schedule& schedule(const std::string& device);
  void reconsider() { executable_ = nullptr, decided_ = false; }
  // What could be chosen, and one that is told.
  std::vector<Schedule> candidates(const std::string& device);
  void take(const Schedule& schedule);
  // Shall results stay on a device? Where the data of the call do, and what computes them holds data.
  bool stays() const { return chosen_.backend->holds_data() && data.resident(); }
  // What runs it as scheduled, and what one run gets.
  const std::shared_ptr<Executable>& executable(Prepared* prepared, Host* host);
  Task task(const Settings& settings, Host* host, const std::vector<Result>& results);

  const Plan& plan;
  const Sizes sizes;
  Data data;
  Boxes boxes = Boxes::none;  // how far they are wanted

 private:
  Findings look();

  std::vector<std::vector<double>> centres_;
  Schedule chosen_;
  bool decided_ = false;
  std::shared_ptr<Executable> executable_;
};

class Ordered;

// A prepared plan on its operands, run as often as one likes.
class Execution {
 public:
  Execution(std::shared_ptr<Prepared> prepared, std::vector<OperandData> operands, const Known& known,
            Settings settings, Host* host);
  ~Execution();

  const Sizes& sizes() const { return sizes_; }
  // Other numbers of the same shape for an operand, from the next run on; without `numbers`, those that a device has.
  void replace(int operand, const double* numbers, Kept* kept = nullptr);
  // Begins what the first run would wait for: kernels that are not there yet.
  void expect();
  // Results go where the host says.
  void run();
  // The same block by block: rows of the results from border to border, in any order; with columns, by way of packed
  // states, as if others had computed them. For plans of one step, at multiples of what grain() says.
  void run_blocks(const std::vector<Range>& rows, const std::vector<Range>& columns);
  Grain grain();

  // The plan whose steps run for the pairs, and how.
  const Plan& ran() const { return first_->plan; }
  Schedule schedule();
  // Schedules of the first step, and one of them, which the next runs carry out.
  std::vector<Schedule> candidates() { return first_->candidates(settings_.device); }
  void take(const Schedule& schedule) { first_->take(schedule); }
  double working_bytes();  // beside data and results

 private:
  // Sums on their way from the first step to the second.
  struct Sum {
    std::vector<double> memory;
    Kept kept;
  };
  std::vector<Result> room_for_results(bool stays);
  void keep_to_able_device();
  void allow_boxes();
  void agree_on_device();
  void run_restricted(const std::vector<Result>& results);
  void run_in_two_steps(bool stays, const std::vector<Result>& results);
  Result room_for_sum(std::size_t k, bool stays, const Result& result);

  const std::shared_ptr<Prepared> prepared_;
  std::vector<OperandData> operands_;
  Settings settings_;
  Host* const host_;
  Sizes sizes_;
  std::unique_ptr<PlanRun> first_;
  // Of restricted pairs: which, what runs partial spans, and what puts points in order.
  ExistingPairs pairs_;
  std::unique_ptr<PlanRun> partial_;
  std::unique_ptr<Ordered> ordered_;
  std::vector<std::unique_ptr<PlanRun>> after_;  // of each output, where there are two steps
  std::vector<Sum> sums_;
};

}  // namespace kernweave
