// The interface of a back end. Implemented to the right, listed once in r_device.cpp.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "base/verdict.hpp"
#include "base/view.hpp"
#include "kernweave/row_numbers.hpp"
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

  bool wants_values() const { return values || values_stay; }
  void put(std::int64_t at, double value, Index index) const { put(at, 1, &value, &index, 1); }
  // Puts some side by side, of every `step`-th that was found.
  void put(std::int64_t at, std::int64_t count, const double* found, const Index* indices, std::int64_t step) const {
    for (std::int64_t k = 0; k < count && values; ++k) values[at + k] = found[k * step] * factor;
    for (std::int64_t k = 0; k < count && numbers.any(); ++k) numbers.put(at + k, indices[k * step]);
  }
};

// Memory of a back end from one run of a plan to the next. Kept by whoever owns the plan.
class Memo {
 public:
  virtual ~Memo() = default;
};

// Task: everything a run needs. Data are in the order of plan.variables (none for counters).
struct Task {
  const Plan* plan;
  const Schedule* schedule;
  std::vector<View> data;
  std::vector<std::vector<double>> centres;  // taken off each variable's data; empty: nothing
  std::vector<Result> results;               // in the order of the outputs
  int threads;                               // at most; 0 lets the back end decide
  std::function<void(double)> poll;  // called now and then with the share that is done; throws Interrupted to stop
  std::function<void()> collect;     // frees memory, of devices too, that nobody needs any more
  std::unique_ptr<Memo>* memo;       // of the back end that runs
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Is it never chosen but by name?
  virtual bool by_name_only() const { return false; }
  virtual Verdict can(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  virtual double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const = 0;
  virtual double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  // Is it there? Asked last, since a device may have to be started to know.
  virtual Verdict ready() const { return {}; }
  // And can it, as it is here, run what it otherwise can?
  virtual Verdict ready_for(const Plan&, const Variant&, const Sizes&) const { return ready(); }
  // Does it compute with data that lie on a device, and leave results there?
  virtual bool holds_data() const { return false; }
  virtual void run(const Task& task) const = 0;
};

}  // namespace kernweave
