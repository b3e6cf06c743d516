// The interface of a back end. Back ends are listed once, in execute/kept_plan.cpp.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include "base/error.hpp"
#include "base/view.hpp"
#include "kernweave/red/state.hpp"
#include "pairs/pair_map.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// The place of an output's results: memory of the host (`values`, `numbers`) or, if null, of the device that computes
// the results (`..._stay`). If both are null, the results are not wanted.
struct Result {
  double* values = nullptr;
  RowNumbers numbers{};
  Kept* values_stay = nullptr;
  Kept* numbers_stay = nullptr;
  double factor = 1;  // multiplies the values
  // The count of numbers of the runs before, and of all runs, if results of several runs stay on a device; else 0.
  std::int64_t before = 0, all = 0;

  bool wants_values() const { return values || values_stay; }
  void put(std::int64_t at, double value, Index index) const { put(at, 1, &value, &index, 1); }
  // Puts `count` results side by side: found[0], found[step], found[2 step], ...
  void put(std::int64_t at, std::int64_t count, const double* found, const Index* indices, std::int64_t step) const {
    for (std::int64_t k = 0; k < count && values; ++k) values[at + k] = found[k * step] * factor;
    for (std::int64_t k = 0; k < count && numbers.any(); ++k) numbers.put(at + k, indices[k * step]);
  }
  // Puts sums of one term each. Adding 0 turns -0 into 0, as a sum does.
  template <class T>
  void put_terms(std::int64_t at, std::int64_t count, const T* terms) const {
    for (std::int64_t k = 0; k < count && values; ++k) values[at + k] = (0.0 + terms[k]) * factor;
  }
};

class Executable;
struct Task;

// Restricted pairs: the map of existing pairs, and the computation of partial spans.
struct Restriction {
  ExistingPairs pairs{};
  std::shared_ptr<Executable> partial{};  // for partial spans: masked pairs yield the reduction's neutral element; null
                                          // if no span is partial
  const Task* task = nullptr;             // the task of `partial`
};

// The task of one run. Data are in the order of plan.variables (none for counters).
struct Task {
  std::vector<View> data;
  const std::vector<std::vector<double>>& centres;  // subtracted from each variable's data; empty: nothing
  std::vector<Result> results;                      // in the order of the outputs
  int threads;                                      // at most; 0 lets the back end decide
  double gpu_bytes;                                 // the most memory of a GPU that the run may take
  std::function<void(double)> poll;                 // called now and then with the share of the work that is done
  std::function<void()> collect;                    // frees memory, of devices too, that nobody needs any more
  Restriction restriction{};                        // the restriction of a plan of restricted pairs
  std::int64_t columns_before = 0;                  // of earlier runs folded with this run; row numbers continue
  bool by_boxes = false;                            // the result of boxes_pay()
};

// The borders at which pairs may be cut into blocks. Rows are the points of the kept axis (i if both are folded). If
// some outputs keep i and others j, rows are the points of i, padded to a border, then the points of j.
struct Grain {
  std::int64_t all = 0;                // number of rows
  std::int64_t rows = 0, columns = 0;  // borders are multiples of these numbers; 0: no borders along that axis
  std::int64_t all_columns = 0;        // number of columns, if columns have borders
  bool folded = false;                 // do blocks leave states, since an output keeps no rows?
  bool everywhere = false;             // are there borders with restricted pairs and folded outer axes, too?
  std::string why{};                   // the reason if there are no borders of rows
};

// A block of rows: the rows to be computed, and the rows found of each output.
struct ResultRows {
  // Rows of an output: a range, or, if `ordered`, a list.
  struct OfOutput {
    Range range{};
    bool ordered = false;
    std::vector<std::int64_t> order{};
  };

  Range rows;
  bool plainly = false;
  bool told = true;  // false: the usual pass could not decide some rows, so all blocks must be computed again with
                     // `plainly`
  std::vector<OfOutput> found{};
};

// The code and the cut of a plan for one decision. Runs compile nothing and look up nothing.
//
// Sizes and facts of the whole call decide the cut. Any block may be computed alone, here or elsewhere: the results of
// all blocks are equal bit for bit, however rows are divided among processes.
class Executable {
 public:
  virtual ~Executable() = default;
  // Prepares a task by boxes of points, if the decision has boxes; false if a trial finds that boxes save no time.
  virtual bool boxes_pay(const Task&) { return false; }
  virtual Grain grain() { return {}; }
  // Computes all results of the runs of outer axes, in their places; or, with `block`, a block of rows.
  virtual void run(const std::vector<Task>& tasks, ResultRows* block) = 0;
  // Returns the states of these rows over these columns (all columns if the range is empty), to be merged with states
  // of other columns. The bytes can be read by another process of the same build and model.
  virtual std::vector<char> states(const std::vector<Task>&, const Range&, const Range&) { return {}; }
  // Makes results of the states of all blocks, ordered by rows, then by columns.
  virtual void finish(const std::vector<Task>&, const std::vector<const std::vector<char>*>&) {}
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Tells whether the back end is chosen by name only.
  virtual bool by_name_only() const { return false; }
  virtual Verdict can(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  virtual double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const = 0;
  // Estimates the time by boxes of points; infinite if unknown.
  virtual double seconds_by_boxes(const Plan&, const Variant&, const Sizes&, const Growths&) const {
    return std::numeric_limits<double>::infinity();
  }
  virtual double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  // Tells whether the back end can be used now. Called last, since a device may have to be started.
  virtual Verdict ready() const { return {}; }
  // Tells whether the back end of this machine can run a plan that can() accepts.
  virtual Verdict ready_for(const Plan&, const Variant&, const Sizes&) const { return ready(); }
  // The number of the device on which data may lie and results may stay; -1: none.
  virtual int holder() const { return -1; }
  bool holds_data() const { return holder() >= 0; }
  // Returns the back end of the first of several devices: restricted pairs and folded outer axes have one device, and
  // solvers keep their columns there.
  virtual const Backend& alone() const { return *this; }
  // The default loops, and other loops that prepare() accepts, for a search: results are equal up to rounding.
  virtual Loops loops(const Variant&) const { return {}; }
  virtual std::vector<Loops> other_loops(const Plan&, const Variant&, const Sizes&) const { return {}; }
  // Tells whether a softmax with many weights is computed in one pass, faster than in two steps.
  virtual bool softens_at_once(const Plan&, const Decision&) const { return false; }
  // The source text of each pass, if the back end has one, for explain().
  virtual std::vector<std::string> sources(const Plan&, const Decision&) const { return {}; }
  // Returns the device model, on which results depend too. Called only if the back end is ready.
  virtual std::string model() const { return ""; }
  // `plan` must outlive the executable.
  virtual std::unique_ptr<Executable> prepare(const Plan& plan, const Decision& decision) const = 0;
};

// The back ends: two nested loops, as a reference; tiles of pairs on threads; kernels on NVIDIA GPUs. `devices`:
// "gpu", which is the first; "all"; or numbers, as "1" or "0,2".
const Backend &reference_backend(), &cpu_backend(), &cuda_backend(const std::string& devices);

}  // namespace kernweave
