// What a back end must answer. Implemented to the right, listed once in r_device.cpp.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "base/view.hpp"
#include "kernweave/row_numbers.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// Yes, or no and why.
struct Verdict {
  bool yes = true;
  std::string why;

  static Verdict no(std::string why) { return {false, std::move(why)}; }
};

struct Result {
  double* values = nullptr;  // null where the reduction has none
  RowNumbers numbers{};
};

// Everything a run needs. Data are in the order of plan.variables (none for counters).
struct Task {
  const Plan* plan;
  const Schedule* schedule;
  std::vector<View> data;
  std::vector<std::vector<double>> centres;  // taken off each variable's data; empty: nothing
  std::vector<Result> results;       // in the order of the outputs
  int threads;                       // at most; 0 lets the back end decide
  std::function<void(double)> poll;  // called now and then with the share that is done; throws Interrupted to stop
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  // Is it never chosen but by name?
  virtual bool by_name_only() const { return false; }
  virtual Verdict can(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  virtual double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  virtual double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const = 0;
  // Is it there? Asked last, since a device may have to be started to know.
  virtual Verdict ready() const { return {}; }
  virtual void run(const Task& task) const = 0;
};

}  // namespace kernweave
