// index_add() of doubles on a device.
#include "arrays/cuda/index_add.cuh"

namespace kernweave::arrays::cuda {
namespace {

// A sum, and how many numbers it is of.
struct Counted {
  double sum, count;
};

// The mean; with kInclude, the number of the array is a term.
template <bool kInclude>
struct Mean {
  using Value = double;
  using State = Counted;
  KW_FN static State term(double alpha, double value) { return {alpha * value, 1}; }
  KW_FN static State combine(const State& a, const State& b) { return {a.sum + b.sum, a.count + b.count}; }
  KW_FN static State open(double value) { return kInclude ? State{value, 1} : State{-0.0, 0}; }
  KW_FN static double close(const State& state, bool*) { return state.sum / state.count; }
};

}  // namespace

template <bool kInclude>
struct NeutralOf<Mean<kInclude>> {
  KW_FN static Counted state() { return {-0.0, 0}; }
};

void add_doubles(Device& gpu, const AddTask& task, const double* source, double* array) {
  const auto add = [&](auto op) { add_by<decltype(op)>(gpu, task, source, array, nullptr); };
  if (task.mean) return task.include ? add(Mean<true>()) : add(Mean<false>());
  switch (task.op) {
    case Combine::sum: return add(combine::Sum());
    case Combine::prod: return add(combine::Prod());
    case Combine::min: return add(combine::Min());
    case Combine::max: return add(combine::Max());
  }
}

}  // namespace kernweave::arrays::cuda
