// Entries by the executor: each list of places is a run of its own, since sizes differ.
#include "solve/entries.hpp"

#include "solve/engine_host.hpp"

namespace kernweave::solve {

Places all_places(Index n) {
  Places places(static_cast<std::size_t>(n));
  for (Index k = 0; k < n; ++k) places[static_cast<std::size_t>(k)] = static_cast<double>(k + 1);
  return places;
}

void Entries::block(const Places& rows, const Places& columns, Block* out) {
  out->resize(static_cast<Index>(rows.size()), static_cast<Index>(columns.size()));
  run(&block_, rows, columns, out->data());
}

void Entries::pairs(const Places& rows, const Places& columns, Vector* out) {
  out->resize(static_cast<Index>(rows.size()));
  run(&pairs_, rows, columns, out->data());
}

void Entries::run(EntriesPlan* plan, const Places& rows, const Places& columns, double* out) {
  if (rows.empty() || columns.empty()) return;
  const auto put = [&](int operand, const Places& places) {
    View& view = plan->operands[static_cast<std::size_t>(operand)].view;
    view = View();
    view.data = places.data();
    view.rows = static_cast<std::int64_t>(places.size());
    view.columns = 1;
  };
  put(plan->rows, rows);
  put(plan->columns, columns);
  EngineHost host(poll_);
  host.to = out;
  Execution(plan->prepared, plan->operands, Known(), settings_, &host).run();
}

}  // namespace kernweave::solve
