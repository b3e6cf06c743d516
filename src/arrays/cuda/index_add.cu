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

bool CudaVerbs::index_add(const AddTask& task, const Whole& source, const Numbers& array) const {
  if (task.index.doubles) {
    const Index count = task.index.count;
    const Block numbers = room_for<int>(gpu, count);
    AddTask whole = task;
    whole.index = {pointer<int>(numbers), nullptr, count};
    to_integers(task.index.doubles, count, {pointer<int>(numbers), nullptr, 0, 0});
    return index_add(whole, source, array);
  }
  if (array.integers) return add_integers(task, source, array);
  const auto add = [&](auto op) { add_by<decltype(op)>(gpu, task, source.doubles, array.doubles, nullptr); };
  if (!task.mean) with_doubles(task.how.op, add);
  else if (task.include) add(Mean<true>());
  else add(Mean<false>());
  return false;
}

}  // namespace kernweave::arrays::cuda
