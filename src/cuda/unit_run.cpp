// Runs units of restricted pairs. All points are on the device at once. Blocks of threads take units in any order;
// their states are merged in a fixed order.
#include "cuda/pass_run.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cuda/limits.hpp"
#include "pairs/units.hpp"

namespace kernweave {
namespace cuda {

void run_units(ReadyPass* full, ReadyPass* partial, const Task& task, const UnitTable& table, MemoryRoom room) {
  // The cut has room for the totals of all units, and for the waiting states.
  const SweepCut cut{(static_cast<std::int64_t>(table.units.size()) + 1) / 2, 2, 0, 1, kGpuUnits};
  full->cut = cut;
  if (partial) partial->cut = cut;
  const Range rows{0, full->pass.all.lanes};
  device::Device& device = *full->devices[0];
  on_devices(full->devices, [&] {
    PassRun run(*full, 0, task, rows);
    run.enter_units(table, room, task.poll);
    run.sweep_units(0, table.full);
    if (partial) {
      // Both passes send their numbers through the same memory of the host.
      device.wait();
      PassRun other(*partial, 0, *task.restriction.task, rows);
      other.enter_units(table, room, task.poll);
      other.leave_to(run);
      other.sweep_units(table.full, static_cast<std::int64_t>(table.units.size()));
      device.wait();
    }
    run.end_units(table);
  });
}

// Prepares the only window.
void PassRun::enter_units(const UnitTable& table, MemoryRoom room, const std::function<void(double)>& poll) {
  begin(room, poll);
  user_check(windows_.whole, Fault::memory, "restricted pairs of ", all_.lanes, " x ", all_.sweep,
             " points do not fit the GPU's memory at once; use device = \"cpu\"");
  place_numbers();
  waiting_ = {table.rows, std::max<std::int64_t>(table.trays, 1),
              std::min<std::int64_t>(kGpuUnits, static_cast<std::int64_t>(table.units.size()))};
  enter(rows_, {0, all_.sweep});
  const auto put = [&](device::Block* block, const auto& items, auto* at) {
    const std::size_t bytes = items.size() * sizeof(items[0]);
    device_.make_room(block, std::max<std::size_t>(bytes, 1), "the pairs");
    device_.upload(block->at(), items.data(), bytes);
    *at = device::address<std::remove_pointer_t<std::remove_pointer_t<decltype(at)>>>(block->at());
  };
  put(&units_, table.units, &head_.units);
  put(&unit_spans_, table.spans, &head_.spans);
  put(&unit_merges_, table.merges, &head_.merges);
  head_.unit_rows = table.rows;
}

void PassRun::launch_units(const char* name, std::int64_t first, std::int64_t end, std::int64_t shared_bytes) {
  const std::int64_t most = pass_.folds_all() ? kGpuUnits : std::int64_t{1} << 20;
  for (head_.first_unit = first; head_.first_unit < end; head_.first_unit += most)
    launch(name, std::min<std::int64_t>(most, end - head_.first_unit), 1, static_cast<unsigned>(pass_.shape.threads),
           shared_bytes);
}

void PassRun::sweep_units(std::int64_t first, std::int64_t end) {
  launch_units("sweep", first, end, pass_.shared_bytes());
}

void PassRun::leave_to(const PassRun& other) { outputs_.targets = other.outputs_.targets; }

void PassRun::end_units(const UnitTable& table) {
  launch_units("merge", 0, static_cast<std::int64_t>(table.merges.size()), 0);
  if (pass_.folds_all()) {
    head_.blocks = static_cast<std::int64_t>(table.units.size());
    head_.splits = 1;
    launch("total", 1, 1, static_cast<unsigned>(pass_.shape.threads), 0);
  }
  for (const Keep keep : {pass_.lane_keep(), Keep::none}) outputs_.fetch(keep);
  device_.wait();
  outputs_.hand_over();
}

// --- unit table -----------------------------------------------------------------------------------------------------
// Trays of the same rows are contiguous, in full and in partial spans alike.

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
