// Keys as bits that sort: whole numbers without sign, in the order of R, what is missing last; -0 is 0, and all that is
// missing is one key.
#pragma once
#include <cstdint>
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {

// R's missing integer is the least: one less wraps round.
KW_FN std::uint32_t sortable(int item) { return static_cast<std::uint32_t>(item) - 0x80000001u; }

KW_FN std::uint64_t bits_of(double item) {
  std::uint64_t bits;
  memcpy(&bits, &item, sizeof bits);
  return bits;
}
KW_FN std::uint64_t sortable(double item) {
  if (item != item) return ~std::uint64_t{0};
  const std::uint64_t bits = bits_of(item == 0 ? 0.0 : item), sign = std::uint64_t{1} << 63;
  return bits & sign ? ~bits : bits | sign;
}
// Keys are what they are.
KW_FN std::uint32_t sortable(std::uint32_t key) { return key; }
KW_FN std::uint64_t sortable(std::uint64_t key) { return key; }

KW_FN bool is_missing_key(std::uint32_t key) { return key == ~std::uint32_t{0}; }
KW_FN bool is_missing_key(std::uint64_t key) { return key == ~std::uint64_t{0}; }

// The item of a key, but for the sign of 0 and the kind of NaN.
KW_FN int item_of(std::uint32_t key) { return static_cast<int>(key + 0x80000001u); }
KW_FN double item_of(std::uint64_t key) {
  const std::uint64_t sign = std::uint64_t{1} << 63, bits = key & sign ? key ^ sign : ~key;
  double item;
  memcpy(&item, &bits, sizeof item);
  return item;
}

template <class Item>
using KeyOf = decltype(sortable(Item()));

// Reverses the order of keys; missing keys stay last.
template <class Key>
KW_FN Key turned(Key key) {
  return is_missing_key(key) ? key : static_cast<Key>(~Key{0} - 1 - key);
}

struct KeyLess {
  template <class Item>
  KW_FN bool operator()(const Item& a, const Item& b) const {
    return sortable(a) < sortable(b);
  }
};

// Calls f with two lists of one type.
template <class F>
void with_lists(const Column& a, const Column& b, F f) {
  if (a.integers) f(a.integers, b.integers);
  else f(a.doubles, b.doubles);
}

}  // namespace kernweave::arrays::cuda
