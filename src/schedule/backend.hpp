// The interface of a back end. Implemented to the right, listed once in execute/kept_plan.cpp.
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

// Place of an output's results: memory of the host, or, where that is null, the device that finds them. Results without
// any place are not wanted.
struct Result {
  double* values = nullptr;
  RowNumbers numbers{};
  Kept* values_stay = nullptr;
  Kept* numbers_stay = nullptr;
  double factor = 1;  // of values
  // The count of numbers before these results, and of all, if results stay and are of one of several runs; else 0.
  std::int64_t before = 0, all = 0;

  bool wants_values() const { return values || values_stay; }
  void put(std::int64_t at, double value, Index index) const { put(at, 1, &value, &index, 1); }
  // Puts some side by side, of every `step`-th that was found.
  void put(std::int64_t at, std::int64_t count, const double* found, const Index* indices, std::int64_t step) const {
    for (std::int64_t k = 0; k < count && values; ++k) values[at + k] = found[k * step] * factor;
    for (std::int64_t k = 0; k < count && numbers.any(); ++k) numbers.put(at + k, indices[k * step]);
  }
  // Puts sums of one term each: 0 makes of a negative zero what a sum would.
  template <class T>
  void put_terms(std::int64_t at, std::int64_t count, const T* terms) const {
    for (std::int64_t k = 0; k < count && values; ++k) values[at + k] = (0.0 + terms[k]) * factor;
  }
};

class Executable;
struct Task;

// Restricted pairs: which exist, and how those in partial spans are computed.
struct Restriction {
  ExistingPairs pairs{};
  std::shared_ptr<Executable> partial{};  // for partial spans: masked pairs yield the reduction's neutral element; null
                                          // where no span is partial
  const Task* task = nullptr;             // the task of `partial`
};

// The task of one run. Data are in the order of plan.variables (none for counters).
struct Task {
  std::vector<View> data;
  const std::vector<std::vector<double>>& centres;  // taken off each variable's data; empty: nothing
  std::vector<Result> results;                      // in the order of the outputs
  int threads;                                      // at most; 0 lets the back end decide
  double gpu_bytes;                                 // the most that may be taken of a GPU's memory
  std::function<void(double)> poll;                 // called now and then with the share that is done
  std::function<void()> collect;                    // frees memory, of devices too, that nobody needs any more
  Restriction restriction{};                        // of a plan of restricted pairs
  std::int64_t columns_before = 0;                  // of other runs that are folded with this one: places count on
  bool by_boxes = false;                            // as boxes_pay() tells
};

// The borders at which pairs may be cut into blocks of the whole. Rows are the points of the kept axis (i if both are
// folded). If outputs are kept along i and others along j, rows are the points of i, filled up to a border, then the
// points of j.
struct Grain {
  std::int64_t all = 0;                // rows that there are
  std::int64_t rows = 0, columns = 0;  // borders are multiples of so many of both axes; 0: not along that axis
  std::int64_t all_columns = 0;        // columns that there are, where they have borders
  bool folded = false;                 // do blocks leave states, since an output keeps no rows?
  bool everywhere = false;             // with restricted pairs and outer axes that are folded, too
  std::string why{};                   // there are no such rows
};

// Some rows of the results: those to be computed, and what was found of each output.
struct ResultRows {
  // Some rows, in an order of their own where they have one.
  struct OfOutput {
    Range range{};
    bool ordered = false;
    std::vector<std::int64_t> order{};
  };

  Range rows;
  bool plainly = false;
  bool told = true;  // not so where rows met what the usual way cannot tell: then all rows, whoever has them, are to be
                     // computed plainly
  std::vector<OfOutput> found{};
};

// A plan made ready as decided: its code and its cut. Runs compile and look up nothing, however many there are.
//
// What sizes and facts decide is decided for the whole. Any block of it may be computed alone, here or elsewhere: what
// all blocks have found is the same, bit for bit, however rows were dealt out.
class Executable {
 public:
  virtual ~Executable() = default;
  // Sets a task out by boxes of points, if so decided; no where a trial tells that boxes do not pay.
  virtual bool boxes_pay(const Task&) { return false; }
  virtual Grain grain() { return {}; }
  // Computes all results of the runs of outer axes, in their places; or, of outputs that keep rows, a block of rows.
  virtual void run(const std::vector<Task>& tasks, ResultRows* block) = 0;
  // Returns the states that these columns leave in these rows, which wait for the states of other columns; without
  // columns, those that all do. They are bytes for another process of the same build and model.
  virtual std::vector<char> states(const std::vector<Task>&, const Range&, const Range&) { return {}; }
  // Makes results of the states of all blocks: by rows, and for the same rows by columns.
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
  // Tells whether the back end is there. Asked last, since a device may have to be started to know.
  virtual Verdict ready() const { return {}; }
  // Tells whether the back end, as it is here, can also run what can() accepts.
  virtual Verdict ready_for(const Plan&, const Variant&, const Sizes&) const { return ready(); }
  // The number of the device that computes with data that lie there, and leaves results there; -1: none does.
  virtual int holder() const { return -1; }
  bool holds_data() const { return holder() >= 0; }
  // The loops that it thinks best, and others that prepare() carries out: these are for those who search, and give the
  // same numbers up to rounding.
  virtual Loops loops(const Variant&) const { return {}; }
  virtual std::vector<Loops> other_loops(const Plan&, const Variant&, const Sizes&) const { return {}; }
  // Tells whether a softmax with many weights is computed in one pass, faster than in two steps.
  virtual bool softens_at_once(const Plan&, const Decision&) const { return false; }
  // The text that a device is given for each pass, where there is one: for explain().
  virtual std::vector<std::string> sources(const Plan&, const Decision&) const { return {}; }
  // Returns the model that results depend on beside the decision. Asked only if the back end is ready.
  virtual std::string model() const { return ""; }
  // `plan` outlives what is made of it.
  virtual std::unique_ptr<Executable> prepare(const Plan& plan, const Decision& decision) const = 0;
};

// The back ends: two plain loops, for correctness alone; tiles of pairs on threads; kernels on NVIDIA GPUs. `devices`:
// "gpu", which is the first; "all"; or numbers, as "1" or "0,2".
const Backend &reference_backend(), &cpu_backend(), &cuda_backend(const std::string& devices);

}  // namespace kernweave
