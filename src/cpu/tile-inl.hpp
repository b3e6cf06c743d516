// One instruction set's tile evaluator: the machine, products with many weights, and the states. A source for each
// precision includes it, since a compiler takes gigabytes for one, and names the set (lanes/isa.hpp).
#pragma once
#include "cpu/kernels.hpp"
#include "lanes/isa.hpp"

KW_ISA_BEGIN
#include "cpu/machine-inl.hpp"
#include "cpu/steps-inl.hpp"
#include "cpu/fused-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// --- products with many weights -------------------------------------------------------------------------------------
// Multiplies the values of a tile by its weights: a product of matrices in registers.

template <class T, int kVectors, int kColumns>
class Products {
  using P = Pack<T>;
  using Total = red::Sum<P>;
  // The weights whose totals stay in registers, beside the values of a column and a weight: with 2 vectors, 5 weights
  // fill 16 registers, 12 weights fill 32.
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

  // Adds up the totals of kWide weights over all columns.
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

// --- states ---------------------------------------------------------------------------------------------------------
// The states of lanes and of rows as the run sees them: bytes and functions.

template <class State, class = void>
constexpr bool kNotesPlaces = false;
template <class State>
constexpr bool kNotesPlaces<State, decltype(void(State::names))> = true;

template <template <class> class State, class T>
struct StateFunctions {
  using Lanes = State<Pack<T>>;
  using One = State<Scalar<double>>;

  static std::int64_t lane_storage(int places) { return Lanes::storage(places); }
  static void lane_init(void* state, void* storage, int places) { (new (state) Lanes)->init(storage, places); }
  static void lane_restart(void* state) {
    if constexpr (Lanes::kAdds) static_cast<Lanes*>(state)->restart();
    else (void)state;
  }
  static void lane_look(void* state) {
    if constexpr (Lanes::kLooks) static_cast<Lanes*>(state)->look();
    else (void)state;
  }
  static void lane_end_look(void* state) {
    if constexpr (Lanes::kLooks) static_cast<Lanes*>(state)->end_look();
    else (void)state;
  }
  static void lane_names(void* state, const Index* names) {
    if constexpr (kNotesPlaces<Lanes>) static_cast<Lanes*>(state)->names = names;
    else (void)state, (void)names;
  }
  // Returns the limit of the lane in which most terms matter; NaN if a lane's limit is NaN, or if all terms matter.
  static double lane_limit(const void* state) {
    if constexpr (Lanes::kMatters == red::Matters::all) return primitive::infinity() - primitive::infinity();
    else {
      constexpr bool kLeast = Lanes::kMatters == red::Matters::least;
      const auto limit = static_cast<const Lanes*>(state)->limit();
      double most = lane(limit, 0);
      for (int k = 1; k < Pack<T>::kLanes; ++k) {
        const double other = lane(limit, k);
        if (kLeast ? !(other <= most) : other < most) most = other;
      }
      return all(limit == limit) ? most : primitive::infinity() - primitive::infinity();
    }
  }
  static std::int64_t row_storage(int places) { return One::storage(places); }
  static void row_init(void* rows, std::int64_t count, void* storage, int places) {
    One* const first = static_cast<One*>(rows);
    const std::int64_t each = row_storage(places);
    for (std::int64_t r = 0; r < count; ++r)
      (new (first + r) One)->init(static_cast<char*>(storage) + r * each, places);
  }
  static void flush(void* rows, const void* lanes, int count) {
    One* const to = static_cast<One*>(rows);
    const Lanes& from = *static_cast<const Lanes*>(lanes);
    // If all lanes are rows, a state of one number is merged as a vector.
    constexpr int kAll = Pack<T>::kLanes;
    if (sizeof(Lanes) == sizeof(Pack<T>) && count == kAll) {
#pragma GCC unroll 16
      for (int lane = 0; lane < kAll; ++lane) to[lane].merge(from, lane);
    } else {
      for (int lane = 0; lane < count; ++lane) to[lane].merge(from, lane);
    }
  }
  static void merge(void* row, const void* later) { static_cast<One*>(row)->merge(*static_cast<const One*>(later), 0); }
  static void finish(const void* rows, std::int64_t count, int places, double* values, Index* indices) {
    static_assert(sizeof(Scalar<double>) == sizeof(double), "a lane of one number is that number");
    const One* const first = static_cast<const One*>(rows);
    for (std::int64_t r = 0; r < count; ++r, values += places, indices += places)
      first[r].finish(reinterpret_cast<Scalar<double>*>(values), indices);
  }

  static constexpr StateKernel kernel() {
    return {Lanes::kAdds,  Lanes::kLooks, sizeof(Lanes), lane_storage, lane_init, lane_restart, lane_look,
            lane_end_look, lane_names,    lane_limit,    sizeof(One),  row_storage, row_init,   flush,
            merge,         finish};
  }
};

template <class T>
constexpr StateKernel state_kernels[] = {
#define REDUCTION(Name, ...) StateFunctions<red::Name, T>::kernel(),
#include "kernweave/reductions.def"
};

// --- the evaluator --------------------------------------------------------------------------------------------------

template <class T>
constexpr TileKernel tile_kernel() {
  using M = Machine<T>;
  using S = StripSteps<T>;
  return {M::kVectors,
          M::kColumns,
          Pack<T>::kLanes,
          M::room,
          S::run,
          FusedLoops<T>::all,
          Products<T, M::kVectors, M::kColumns>::add,
          state_kernels<T>};
}

}  // inline namespace KW_ISA
}  // namespace kernweave
KW_ISA_END
