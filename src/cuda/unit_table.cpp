// Trays of the same rows follow each other, whatever kind of spans has filled them.
#include "cuda/unit_table.hpp"

#include <algorithm>

#include "cuda/limits.hpp"
#include "pairs/units.hpp"

namespace kernweave {
namespace cuda {

UnitTable unit_table(const PairSpans& spans, std::int64_t rows, std::int64_t column_step) {
  const Units units(spans, {rows, rows, kGpuTile, column_step}, {kGpuUnits, 1, false});
  UnitTable table;
  table.rows = rows;
  std::vector<gpu::Unit> partial;
  for (std::int64_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    const bool alone = unit.begins && unit.ends;
    const auto first = static_cast<std::int64_t>(table.spans.size());
    for (const PairSpan* span = units.begin(unit); span != units.end(unit); ++span)
      table.spans.push_back({span->columns.from, span->columns.to});
    const gpu::Unit made{unit.rows.from, unit.rows.to, first, static_cast<std::int64_t>(table.spans.size()),
                         alone ? -1 : table.trays};
    const bool is_partial = unit.last > unit.first && units.begin(unit)->partial;
    (is_partial ? partial : table.units).push_back(made);
    if (alone) continue;
    if (unit.begins) table.merges.push_back({unit.rows.from, unit.rows.to, table.trays, table.trays});
    table.merges.back().tray_end = ++table.trays;
  }
  table.full = static_cast<std::int64_t>(table.units.size());
  table.units.insert(table.units.end(), partial.begin(), partial.end());
  return table;
}

int rows_of_thread(const PairSpans& spans, int most, int threads) {
  int best = 1;
  double least = 0;
  for (int rows = 1; rows <= most; ++rows) {
    const std::int64_t block = std::int64_t{rows} * threads;
    double pairs = 0;
    for (std::int64_t b = 0; b < spans.blocks(); ++b) {
      double columns = kColumnsOfSpan;
      for (const PairSpan* span = spans.begin(b); span != spans.end(b); ++span)
        columns += static_cast<double>(span->columns.size());
      pairs += static_cast<double>((spans.rows_of(b).size() + block - 1) / block * block) * columns;
    }
    const double seconds = pairs * (1 + kGpuWorkOfColumn / (rows * rows));
    if (rows == 1 || seconds < least) best = rows, least = seconds;
  }
  return best;
}

}  // namespace cuda
}  // namespace kernweave
