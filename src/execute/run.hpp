// A plan on data. The first run chooses a schedule from sizes and facts; later runs only compute.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "execute/plan_run.hpp"

namespace kernweave {

// A kept plan on its operands, which may run many times. All points of outer axes have one decision.
class Execution {
 public:
  Execution(std::shared_ptr<KeptPlan> kept, std::vector<OperandData> operands, const Known& known,
            Settings settings, Host* host);

  const Sizes& sizes() const { return sizes_; }
  // Replaces the numbers of an operand by others of the same shape; null `numbers`: the numbers of `kept` on a device.
  void replace(int operand, const double* numbers, Kept* kept = nullptr);
  // Begins to compile kernels for which the first run would wait.
  void expect();
  // Computes all results, in memory that the host allocates.
  void run();
  // Returns the numbers that borders of blocks are multiples of, and the number of rows. Blocks run here or elsewhere.
  Grain grain();
  // Tells for each operand whether a block of rows (columns) reads just these rows (columns) of the operand.
  std::vector<bool> read_by_rows();
  std::vector<bool> read_by_columns();
  // Computes some rows, in their places among all results; other places are not written. Returns the numbers of rows.
  ResultRows run_rows(const Range& rows, bool plainly);
  // Returns the states that some rows leave, for each run that is folded by itself, if no rows are kept; with columns
  // (of one run of a plan of one step), the states that these columns leave. finish() makes results of the states of
  // all blocks in order.
  using PackedStates = std::vector<std::vector<char>>;
  PackedStates run_states(const Range& rows, const Range& columns = {});
  void finish(const std::vector<PackedStates>& in_order);

  // The plan whose steps run for the pairs, its back end, and its schedule.
  const Plan& ran() const { return first_->plan; }
  const Backend& backend();
  Schedule schedule();
  // The decision; all possible schedules, in one step or two; and a decision made here or elsewhere, which the next
  // runs carry out until an operand is replaced on whose numbers the decision depends.
  Decision decision();
  std::vector<Schedule> candidates();
  void take(const Decision& decision);
  double working_bytes();  // beside data and results

 private:
  // A sum that the second step reads, on the host or on a device.
  struct StepSum {
    std::vector<double> memory;
    Kept kept;
  };
  std::vector<Result> room_for_results(bool stays);
  std::vector<Result> results_of(std::int64_t run, std::vector<Result> results) const;
  void set_out(int steps);
  void keep_to_able_device();
  std::unique_ptr<PlanRun> run_of_partial();
  bool takes_partial(const Backend& backend) const;
  std::vector<PlanRun*> others() const;
  std::string device_of_others(const Backend& first) const;
  void agree_on_device();
  void settle_steps();
  void decide();
  using Tasks = std::vector<Task>;
  Tasks tasks_of(PlanRun* plan, std::int64_t run, const std::vector<Result>& results);
  // Calls compute() with the tasks of all runs, or of one run after the other.
  using Compute = std::function<void(Executable& executable, const Tasks& tasks)>;
  void for_all(const std::vector<Result>& results, const ResultRows* block, const Compute& compute);
  void for_each(const std::vector<Result>& results, const ResultRows* block, const Compute& compute);
  void compute(const std::vector<Result>& results, bool stays, ResultRows* block);
  void clear(const std::vector<Result>& results, const ResultRows* block);
  void run_in_two_steps(std::int64_t run, bool stays, const std::vector<Result>& results, ResultRows* block);
  void run_after(std::size_t k, const Tasks& tasks, ResultRows* block);
  void settle_boxes();
  bool boxes_pay(PlanRun* run, const ExistingPairs& pairs);
  std::string why_whole();
  bool keeps(Keep keep) const;
  std::vector<bool> read_along(Axis axis);
  bool ordered() const { return ordered_ && ordered_->any(); }
  const std::vector<Output>& outputs() const { return kept_->plan.variants.back().outputs; }
  Executable& executable_of(PlanRun* plan) { return *plan->executable(kept_.get(), host_); }
  Result room_for_sum(std::size_t k, bool stays, const Result& result);
  void put_sum(std::size_t k, const Result& sum);

  const std::shared_ptr<KeptPlan> kept_;
  std::vector<OperandData> operands_;
  Settings settings_;
  Host* const host_;
  Sizes sizes_;
  std::unique_ptr<PlanRun> first_;
  // The members for restricted pairs: the pairs, the run of partial spans, and the order of points.
  ExistingPairs pairs_;
  std::unique_ptr<PlanRun> partial_;
  std::unique_ptr<Ordered> ordered_;
  std::vector<std::unique_ptr<PlanRun>> after_;  // of each output, if there are two steps
  bool settled_ = false;                         // is the number of steps decided?
  std::vector<StepSum> sums_;
};

}  // namespace kernweave
