// Many weights for every value: the values of a tile times its weights, a product of matrices in registers. Included
// once per instruction set.
#pragma once
#include <cstdint>
#include "lanes/pack-inl.hpp"
#include "cpu/kernels.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T, int kVectors, int kColumns>
class Products {
  using P = Pack<T>;
  using Total = red::Sum<P>;
  // Weights whose totals stay in registers, beside the values of a column and a weight: 5 of 2 vectors fill 16
  // registers, 12 fill 32.
  static constexpr int kWeights = kVectorBytes == 64 ? 12 : 5;

  template <int kWide>
  struct Totals {
    P at[kWide][kVectors];
  };

  template <int kWide>
  static KW_FN void add_column(const T* values, const T* weights, Totals<kWide>* totals) {
    P x[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) x[v] = P::load(values + v * P::kLanes);
#pragma GCC unroll 12
    for (int w = 0; w < kWide; ++w) {
      const P weight = P::all(weights[w * kColumns]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals->at[w][v] = totals->at[w][v] + x[v] * weight;
    }
  }

  // Totals of kWide weights over all columns.
  template <int kWide>
  __attribute__((noinline)) static void some(const Product& p, int first) {
    constexpr std::int64_t kColumn = kVectors * P::kLanes;
    Totals<kWide> totals;
#pragma GCC unroll 12
    for (int w = 0; w < kWide; ++w)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) totals.at[w][v] = P(0.0);
    const T* values = static_cast<const T*>(p.values);
    const T* weights = static_cast<const T*>(p.weights) + first * kColumns;
    std::int64_t left = p.columns;
    for (; left >= kColumns; left -= kColumns, values += kColumns * kColumn, weights += p.advance) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) add_column(values + c * kColumn, weights + c, &totals);
    }
    for (int c = 0; c < left; ++c) add_column(values + c * kColumn, weights + c, &totals);
    Total* const states = static_cast<Total*>(p.states) + first * kVectors;
#pragma GCC unroll 12
    for (int w = 0; w < kWide; ++w)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        states[w * kVectors + v].total = states[w * kVectors + v].total + totals.at[w][v];
  }

  template <int kWide>
  static void rest(const Product& p, int first) {
    if (p.width - first == kWide) return some<kWide>(p, first);
    if constexpr (kWide > 1) rest<kWide - 1>(p, first);
  }

 public:
  static void add(const Product& p) {
    int first = 0;
    for (; first + kWeights <= p.width; first += kWeights) some<kWeights>(p, first);
    rest<kWeights - 1>(p, first);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
