// How the pairs of a pass are cut into tasks: by the sizes alone, so that no number of threads changes a bit.
#pragma once
#include <algorithm>
#include <cstdint>
#include "cpu/pass.hpp"
#include "pairs/limits.hpp"
#include "schedule/cost.hpp"

namespace kernweave {

// Blocks of rows, times chunks of columns where there are too few blocks to deal out.
struct Cut {
  std::int64_t blocks, chunks, chunk_columns;

  std::int64_t tasks() const { return blocks * chunks; }
};

// `chunk`: columns of a task as told; 0: as many as leave tasks enough.
inline Cut cut(const Tiling& t, std::int64_t lanes, std::int64_t sweep, std::int64_t chunk) {
  Cut c{(lanes + t.rows - 1) / t.rows, 1, sweep};
  if (c.blocks == 0 || sweep == 0) return c;
  if (chunk == 0) {
    const double by_work =
        static_cast<double>(lanes) * static_cast<double>(sweep) / static_cast<double>(c.blocks) / kPairsOfTask;
    const std::int64_t wanted = std::min<std::int64_t>(kTasks / c.blocks, static_cast<std::int64_t>(by_work));
    if (wanted <= 1) return c;
    chunk = (sweep + wanted - 1) / wanted;
  }
  c.chunk_columns = (chunk + t.columns - 1) / t.columns * t.columns;
  c.chunks = (sweep + c.chunk_columns - 1) / c.chunk_columns;
  return c;
}

}  // namespace kernweave
