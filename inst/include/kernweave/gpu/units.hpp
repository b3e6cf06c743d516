// Kernels of a pass over restricted pairs. A block of threads has a unit: some rows, and spans of columns that may be
// anywhere. States of the same rows in several units are merged in order.
#pragma once
#include "sweep.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Ends the work on an output: results, or states that wait in the unit's tray.
template <class F, class Fold, class Place>
__device__ void leave_unit(const typename F::Arguments& a, const Rows<F>& rows, const Fold (&folds)[F::kRows],
                           Place place, long long first, const Unit& unit, long long number) {
  using Row = typename Fold::Row;
  const Target& to = a.targets[Place::kNumber];
  Row* total = nullptr;
  if constexpr (Place::kTotal) total = static_cast<Row*>(to.merged) + number * Fold::kWidth;
  leave_states<F>(a, rows, folds, place, first, unit.row_end, total, [&](const Row& own, long long row, int w) {
    if (unit.tray < 0) return write(own, to, row, w);
    auto* const states = static_cast<Row*>(to.states) + (unit.tray * Fold::kWidth + w) * a.head.unit_rows;
    states[row - unit.row].copy(own);
  });
}

template <class F>
__device__ void sweep_units(const typename F::Arguments& a) {
  const long long number = a.head.first_unit + blockIdx.x;
  const Unit unit = a.head.units[number];
  const long long first = unit.row + threadIdx.x;
  Rows<F> rows;
  rows.read(a, first, unit.row_end);
  typename F::States states;
  states.init();
  Written<F> work(a, rows, Patch(a.head, 0, 0));
  for (long long s = unit.span; s < unit.span_end; ++s)
    sweep_columns<F>(a, rows, a.head.spans[s].from, a.head.spans[s].to, work, states);
  states.each([&](auto& folds, auto place) { leave_unit<F>(a, rows, folds, place, first, unit, number); });
}

// Merges the states of rows that several units share, a block of threads for each group of these rows.
template <class F>
__device__ void merge_units(const typename F::Arguments& a) {
  const Head& head = a.head;
  const UnitMerge merge = head.merges[head.first_unit + blockIdx.x];
  for (long long row = merge.row + threadIdx.x; row < merge.row_end; row += blockDim.x)
    F::States::each_type([&](auto type, auto place) {
      using Fold = typename decltype(type)::Fold;
      using Row = typename Fold::Row;
      if constexpr (!decltype(place)::kTotal) {
        const Target& to = a.targets[decltype(place)::kNumber];
        for (int w = 0; w < Fold::kWidth; ++w) {
          Row all;
          all.init();
          for (long long tray = merge.tray; tray < merge.tray_end; ++tray)
            all.state.merge(
                static_cast<const Row*>(to.states)[(tray * Fold::kWidth + w) * head.unit_rows + row - merge.row].state,
                0);
          write(all, to, row, w);
        }
      }
    });
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
