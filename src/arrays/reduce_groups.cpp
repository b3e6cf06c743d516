// Reductions by group, of items as they come: every block of them has a state for each group, and blocks are merged in
// order. Spares the items' order, and reads them one after the other.
#include "arrays/reduce.hpp"

namespace kernweave::arrays {
namespace {

constexpr Index kMostBlocks = 16;

// Returns the blocks, by sizes alone. The states of all blocks are at most half of the items.
Index blocks_of(Index items, Index groups) {
  return std::max<Index>(1, std::min(kMostBlocks, std::min(pieces_of(items), items / std::max<Index>(1, 2 * groups))));
}

template <class Operator>
class GroupReducer {
 public:
  GroupReducer(const Request& request, const int* codes, const Whole& offsets, double* out)
      : request_(request),
        codes_(codes),
        groups_(offsets.count - 1),
        items_(offsets[offsets.count - 1]),
        blocks_(blocks_of(items_, groups_)),
        states_(static_cast<std::size_t>(blocks_)),
        out_(out) {}

  void run(const Workers& workers, const Items& items) {
    each_task(workers, blocks_, [&](Index block) { reduce_block(items, block); });
    each_piece(workers, groups_, [&](Index, Index first, Index last) { merge_blocks(first, last); });
    const auto is_nan = [](double value) { return value != value; };
    if (!request_.skip && std::any_of(out_, out_ + groups_ * Operator::kResults, is_nan)) explain_nan(items);
    out_ += groups_ * Operator::kResults;
  }

 private:
  void reduce_block(const Items& items, Index block) {
    Operator fresh;
    fresh.init();
    if (block == 0 && request_.begins) fresh.take(request_.init, 0);
    std::vector<Operator>& states = states_[static_cast<std::size_t>(block)];
    states.assign(static_cast<std::size_t>(groups_), fresh);
    double buffer[kTile];
    const Index end = partition::even_split(items_, blocks_, block + 1);
    for (Index first = partition::even_split(items_, blocks_, block); first < end; first += kTile) {
      const Index last = std::min(end, first + kTile);
      const double* const values = items.load(first, last, buffer);
      for (Index k = first; k < last; ++k)
        states[static_cast<std::size_t>(codes_[k]) - 1].take(values[k - first], k + 1);
    }
  }

  void merge_blocks(Index first, Index last) {
    for (Index group = first; group < last; ++group) {
      const auto at = static_cast<std::size_t>(group);
      Operator all = states_[0][at];
      for (std::size_t block = 1; block < states_.size(); ++block) all.merge(states_[block][at]);
      double values[Operator::kResults];
      all.finish(values);
      for (int k = 0; k < Operator::kResults; ++k) out_[k * groups_ + group] = values[k];
    }
  }

  // Explains a result that is NaN though all items count, by an item that is not available, if there is such an item.
  void explain_nan(const Items& items) {
    double buffer[kTile];
    for (Index first = 0; first < items_; first += kTile) {
      const Index last = std::min(items_, first + kTile);
      const double* const values = items.load(first, last, buffer);
      for (Index k = first; k < last; ++k) {
        if (!items.is_missing(values[k - first])) continue;
        for (int result = 0; result < Operator::kResults; ++result) {
          double& to = out_[result * groups_ + codes_[k] - 1];
          if (to != to) to = items.not_available;
        }
      }
    }
  }

  const Request& request_;
  const int* const codes_;
  const Index groups_, items_, blocks_;
  std::vector<std::vector<Operator>> states_;
  double* out_;
};

}  // namespace

void reduce_groups(const Request& request, const std::vector<Items>& columns, const int* codes, const Whole& offsets,
                   const Workers& workers, double* out) {
  const auto run = [&](auto type) {
    GroupReducer<typename decltype(type)::Of> reducer(request, codes, offsets, out);
    for (const Items& items : columns) reducer.run(workers, items);
  };
  if (request.skip) with_operator<true>(request.op, run);
  else with_operator<false>(request.op, run);
}

}  // namespace kernweave::arrays
