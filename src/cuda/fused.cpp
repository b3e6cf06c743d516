// Pairs that are a chain of a common kind, whose numbers lie where a kernel would read them.
#include "cuda/script_layout.hpp"

#include <algorithm>

#include "plan/output_groups.hpp"

namespace kernweave {
namespace cuda {
namespace {

using gpu::From;
using gpu::Instruction;

// Limits on weights: each is a way through the pairs of its own, and each block stages the weights of all
// (bench/notes/18-gpu-3.md). Of wide points such a way is long.
constexpr int kFewComponents = 10, kMostWeights = 16, kMostOfWide = 2;

template <class At>
At fold_of(At first, At end) {
  return std::find_if(first, end, [](const Instruction& i) { return i.kind == gpu::Kind::fold; });
}

bool can_read(const PairChain& chain, const std::vector<Instruction>& pairs) {
  const Instruction &fold = *fold_of(pairs.begin(), pairs.end()), &term = pairs[1 + chain.calls.size()];
  const From weight = term.in[1].from;
  const bool runs = chain.width == 1 || (fold.in[1].step == 1 && fold.in[2].step == 1);
  const bool in_place = runs && fold.in[1].from == From::row && fold.in[2].from == From::tile;
  return in_place && term.width <= (chain.width <= kFewComponents ? kMostWeights : kMostOfWide) &&
         (weight == From::tile || weight == From::once || weight == From::literal);
}

}  // namespace

const char* fused_kernel(const Pass& pass, const std::vector<Instruction>& pairs) {
  PairChain chain;
  if (pass.group.outputs.size() != 1 || !is_chain(*pass.plan, *pass.variant, pass.group, pass.needed, &chain) ||
      !can_read(chain, pairs))
    return nullptr;
#define FUSED(name, fold, reduction, ...) \
  if (is_of_kind(chain, Op::fold, Red::reduction, __VA_ARGS__::kRows, __VA_ARGS__::kLength)) return #name;
#define FUSED_GPU FUSED
#include "kernweave/fused.def"
  return nullptr;
}

void fold_first(std::vector<Instruction>* pairs) {
  const auto fold = fold_of(pairs->begin(), pairs->end());
  std::rotate(pairs->begin(), fold, fold + 1);
}

}  // namespace cuda
}  // namespace kernweave
