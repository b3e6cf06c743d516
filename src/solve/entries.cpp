// Entries by the executor: each list of places is a run of its own, since sizes differ.
#include "solve/entries.hpp"

#include <algorithm>

#include "schedule/backend.hpp"
#include "solve/engine_host.hpp"

namespace kernweave::solve {
namespace {

// Fewer are computed on the host where the data lie there: a kernel that is not compiled yet takes a device longest.
constexpr Index kFewPairs = 1 << 21;

View list_of(const RowIndices& places) { return {places.data(), static_cast<std::int64_t>(places.size()), 1}; }

// Returns the view of a column of places, on the host or on a device.
View list_of(const Columns& places) {
  return {places.device() ? nullptr : places.block().data(), places.size(), 1, places.kept()};
}

void put_places(const EntriesPlan& plan, const View& rows, const View& columns, std::vector<OperandData>* operands) {
  (*operands)[static_cast<std::size_t>(plan.rows)].view = rows;
  (*operands)[static_cast<std::size_t>(plan.columns)].view = columns;
}

}  // namespace

RowIndices all_places(Index n) {
  RowIndices places(static_cast<std::size_t>(n));
  for (Index k = 0; k < n; ++k) places[static_cast<std::size_t>(k)] = static_cast<double>(k + 1);
  return places;
}

std::vector<int> rows_at(const RowIndices& places) {
  std::vector<int> rows;
  for (const double place : places) rows.push_back(static_cast<int>(place) - 1);
  return rows;
}

Columns places_on(device::Device* device, const double* places, Index count, Index all) {
  Columns sent = Columns(Block(Eigen::Map<const Block>(places, count, 1))).sent_to(device);
  if (device) sent.kept()->range = ValueRange{1, static_cast<double>(all)};
  return sent;
}

void Entries::block(const RowIndices& rows, const RowIndices& columns, Block* out) {
  out->resize(static_cast<Index>(rows.size()), static_cast<Index>(columns.size()));
  run(&block_, list_of(rows), list_of(columns), out->data());
}

void Entries::block(const Columns& rows, const Columns& columns, Columns* out) {
  run_where_they_are(&block_, rows, columns, columns.size(), out);
}

void Entries::pairs(const Columns& rows, const Columns& columns, Columns* out) {
  run_where_they_are(&pairs_, rows, columns, 1, out);
}

void Entries::run_where_they_are(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width,
                                 Columns* out) {
  if (rows.device()) return run_gpu(plan, rows, columns, width, out);
  out->make(nullptr, rows.size(), width);
  run(plan, list_of(rows), list_of(columns), out->here()->data());
}

void Entries::run(EntriesPlan* plan, const View& rows, const View& columns, double* out) {
  if (rows.rows == 0 || columns.rows == 0) return;
  const auto there = [](const OperandData& operand) { return operand.view.data == nullptr; };
  const bool few = rows.rows * columns.rows <= kFewPairs &&
                   std::none_of(plan->operands.begin(), plan->operands.end(), there);
  put_places(*plan, rows, columns, &plan->operands);
  EngineHost host(poll_);
  host.to = out;
  host.operands = &plan->operands;
  Settings settings = settings_;
  if (few && settings.device != "reference") settings.device = "cpu";
  Execution(plan->prepared, plan->operands, Known(), settings, &host).run();
}

void Entries::run_gpu(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width, Columns* out) {
  device::Device* const home = rows.device();
  *out = Columns();  // whose memory may serve the results
  if (plan->there.empty()) {
    plan->there = plan->operands;
    make_resident(&plan->there, &plan->copies);
  }
  put_places(*plan, list_of(rows), list_of(columns), &plan->there);
  EngineHost host(poll_);
  host.operands = &plan->there;
  Execution execution(plan->prepared, plan->there, Known(), settings_, &host);
  const Backend& backend = execution.backend();
  if (backend.holds_data() && backend.holder() == home->number()) {
    execution.run();
    *out = Columns(home, std::move(host.stay.copies.at(home->number())), rows.size(), width);
    return;
  }
  Block numbers(rows.size(), width);
  host.to = numbers.data();
  execution.run();
  *out = Columns(std::move(numbers)).sent_to(home);
}

}  // namespace kernweave::solve
