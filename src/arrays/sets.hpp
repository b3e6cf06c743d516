// Sets and multisets of sorted lists: equal items are paired by rank, and an operation keeps some of the pairs and some
// of the items without a partner.
#pragma once
#include <algorithm>
#include <vector>

#include "arrays/buffer.hpp"
#include "arrays/sorted.hpp"

namespace kernweave::arrays {

enum class SetOp { unite, intersect, subtract, symmetric };

// Returns how often a key is kept, by how often it is in each list.
inline Index kept(SetOp op, Index in_a, Index in_b) {
  switch (op) {
    case SetOp::unite: return std::max(in_a, in_b);
    case SetOp::intersect: return std::min(in_a, in_b);
    case SetOp::subtract: return std::max<Index>(in_a - in_b, 0);
    case SetOp::symmetric: break;
  }
  return std::max(in_a, in_b) - std::min(in_a, in_b);
}

// Items that are found piece by piece; each piece has room for all that it could find.
template <class Item>
class Gathered {
 public:
  Gathered(Index room, Index pieces) : items_(room), starts_(pieces), before_(pieces + 1) {}

  Item* room_for(Index piece, Index start) { return &items_[starts_[piece] = start]; }
  void note_end(Index piece, const Item* end) { before_[piece + 1] = end - &items_[starts_[piece]]; }
  void add_up() {
    for (std::size_t piece = 1; piece < before_.size(); ++piece) before_[piece] += before_[piece - 1];
  }
  Index count() const { return before_.back(); }
  void write(Item* to, const Workers& workers) const {
    share_out(workers.threads, static_cast<std::int64_t>(starts_.size()), workers.poll,
              [&](int, std::int64_t piece, const Heartbeat&) {
                const Item* const from = &items_[starts_[piece]];
                std::copy(from, from + before_[piece + 1] - before_[piece], to + before_[piece]);
              });
  }

 private:
  Buffer<Item> items_;
  std::vector<Index> starts_, before_;
};

template <class Item>
Item* set_of_piece(SetOp op, const Item* a, const Item* a_end, const Item* b, const Item* b_end, Item* to) {
  switch (op) {
    case SetOp::unite: return std::set_union(a, a_end, b, b_end, to);
    case SetOp::intersect: return std::set_intersection(a, a_end, b, b_end, to);
    case SetOp::subtract: return std::set_difference(a, a_end, b, b_end, to);
    case SetOp::symmetric: break;
  }
  return std::set_symmetric_difference(a, a_end, b, b_end, to);
}

// Computes a set of the items that are not missing.
template <class Item>
Gathered<Item> set_of(SetOp op, const Sorted<Item>& a, const Sorted<Item>& b, const Workers& workers) {
  const std::vector<partition::Cut> cuts = cuts_of(a.known, b.known, [&](Index diagonal) {
    return partition::balanced_path(a.items, a.known, b.items, b.known, diagonal);
  });
  Gathered<Item> found(a.known + b.known, static_cast<Index>(cuts.size()) - 1);
  each_cut(workers, cuts, [&](Index piece, partition::Cut from, partition::Cut to) {
    Item* const room = found.room_for(piece, from.a + from.b);
    found.note_end(piece, set_of_piece(op, a.items + from.a, a.items + to.a, b.items + from.b, b.items + to.b, room));
  });
  found.add_up();
  return found;
}

// Finds each key once: within a piece, a key is kept unless the item before has it.
template <class Item>
Gathered<Item> distinct(const Sorted<Item>& list, const Workers& workers) {
  Gathered<Item> found(list.known, pieces_of(list.known));
  each_piece(workers, list.known, [&](Index piece, Index first, Index last) {
    const Item *from = list.items + first, *const to = list.items + last;
    while (first > 0 && from < to && *from == list.items[first - 1]) ++from;
    found.note_end(piece, std::unique_copy(from, to, found.room_for(piece, first)));
  });
  found.add_up();
  return found;
}

}  // namespace kernweave::arrays
