// The states of lanes and of rows as the run sees them: bytes and functions. Included once per instruction set.
#pragma once
#include "lanes/pack-inl.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
inline namespace KW_ISA {

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
  // Returns the limit of the lane in which most terms matter; NaN where a lane's limit is NaN, or all terms matter.
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
    // A state of one number goes over as a vector where all its lanes are rows.
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

}  // inline namespace KW_ISA
}  // namespace kernweave
