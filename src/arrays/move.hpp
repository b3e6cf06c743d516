// Items moved: removed, inserted, repeated, copied by intervals. Bytes are moved, whatever they mean; what is moved
// from where can also be listed, for items that are no plain bytes.
#pragma once
#include "arrays/items.hpp"

namespace kernweave::arrays {

// Items of a number of bytes, one after the other. `from` is null where the items' places are written instead, from 1:
// an int or a double each, by `bytes`; of the second of two sources, places are counted on from those of the first.
struct Source {
  const void* from;
  Index count;
};
struct Target {
  void* to;
  int bytes;
};

// All items but those at ascending places, from 1, no two equal.
void remove_items(const Source& x, const Whole& at, const Workers& workers, const Target& out);

// Items of `x`, and before its item number after[k] (from 0), value k; `after` ascends.
void insert_items(const Source& x, const Source& values, const Whole& after, const Workers& workers, const Target& out);

// Item k of `x` as often as offsets[k + 1] - offsets[k] tells.
void expand_items(const Source& x, const Whole& offsets, const Workers& workers, const Target& out);

// The place of each item among equal ones, from 1.
template <class Place>
void ranks_of(const Whole& offsets, const Workers& workers, Place* out);

// The intervals to move: as many items as the offsets tell, from place from[k] to place to[k], counted from 1. The
// intervals of an absent list lie one after the other.
struct Intervals {
  Whole from, to, offsets;
};
void move_items(const Source& x, const Intervals& intervals, const Workers& workers, const Target& out);

}  // namespace kernweave::arrays
