// Items of an array, in place or by a list of their numbers, and numbers of the types of R.
#pragma once
#include <cstring>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

constexpr Index kMostInt = 2147483647;

// Whole numbers as int or double; none if both are null. A list (kernweave/partition.hpp).
struct Whole {
  const int* integers = nullptr;
  const double* doubles = nullptr;
  Index count = 0;

  KW_FN explicit operator bool() const { return integers || doubles; }
  KW_FN Index operator[](Index k) const { return integers ? integers[k] : static_cast<Index>(doubles[k]); }
  KW_FN Whole from(Index k) const {
    return {integers ? integers + k : nullptr, doubles ? doubles + k : nullptr, count - k};
  }
};

// Calls f with the numbers as a plain array.
template <class F>
void with_array(const Whole& whole, F f) {
  if (whole.integers) f(whole.integers);
  else f(whole.doubles);
}

// Items of a type of R, logicals as integers; `longs` are the items of an integer64.
struct Column : Whole {
  const std::int64_t* longs = nullptr;
};

// Calls f with the items as a plain array.
template <class F>
auto with_items(const Column& items, F f) {
  if (items.longs) return f(items.longs);
  return items.integers ? f(items.integers) : f(items.doubles);
}

// Room for numbers, integers or doubles, and the value of R's NA in it.
struct Numbers {
  int* integers = nullptr;
  double* doubles = nullptr;
  int missing = 0;
  double not_available = 0;

  KW_FN explicit operator bool() const { return integers || doubles; }
  Numbers from(Index k) const {
    return {integers ? integers + k : nullptr, doubles ? doubles + k : nullptr, missing, not_available};
  }
};

// Calls f with the room as a plain array, and with NA.
template <class F>
auto with_room(const Numbers& to, F f) {
  if (to.integers) return f(to.integers, to.missing);
  return f(to.doubles, to.not_available);
}

// The results of a search for one list: how many items of the other list come before each item, and whether the other
// list has an equal item; null if not asked for.
struct Found {
  Numbers at;
  int* matched = nullptr;
};

constexpr Index kTile = 2048;  // items that are loaded at a time, if they are loaded

// Numbers of an array, int or double; `order` has the numbers of its items, from 1. `missing` is the int that stands
// for R's NA, and `not_available` the double.
struct Items {
  const int* integers = nullptr;
  const double* doubles = nullptr;
  Whole order;
  int missing = 0;
  double not_available = 0;

  // Returns items first .. last - 1 as doubles side by side: in `buffer`, unless they lie side by side already.
  const double* load(Index first, Index last, double* buffer) const {
    if (doubles && !order) return doubles + first;
    if (!order) copy(integers + first, Counting1(), last - first, buffer);
    else if (doubles) with_array(order, [&](auto at) { copy(doubles, at + first, last - first, buffer); });
    else with_array(order, [&](auto at) { copy(integers, at + first, last - first, buffer); });
    return buffer;
  }
  // Returns item k as a double.
  KW_FN double at(Index k) const {
    const Index from = order ? order[k] - 1 : k;
    return doubles ? doubles[from] : as_double(integers[from]);
  }
  // NA and NaN are both NaN, told apart by their low bits.
  KW_FN bool is_missing(double value) const { return value != value && low_bits(value) == low_bits(not_available); }
  // Returns the items of a matrix column that begins at item `first`, in the order `by`.
  Items column(Index first, const Whole& by) const {
    Items items = *this;
    items.order = by;
    if (doubles) items.doubles += first;
    else items.integers += first;
    return items;
  }
  KW_FN Index place(Index k) const { return order ? order[k] : k + 1; }
  KW_FN double as_double(int value) const { return value == missing ? not_available : value; }
  KW_FN double as_double(double value) const { return value; }

 private:
  KW_FN static std::uint32_t low_bits(double value) {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint32_t>(bits);
  }
  struct Counting1 {
    Index operator[](Index k) const { return k + 1; }
  };
  template <class Number, class Order>
  void copy(const Number* numbers, Order at, Index count, double* to) const {
    for (Index k = 0; k < count; ++k) to[k] = as_double(numbers[static_cast<Index>(at[k]) - 1]);
  }
};

}  // namespace kernweave::arrays
