// The load-balancing walk: tasks begin where their even share of all work does.
#include "cpu/units.hpp"

#include <algorithm>

#include "kernweave/partition.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace {

std::int64_t padded_to(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// In pairs: those that the strips compute, and what rows and spans take besides.
double work_of(const Range& rows, const PairSpan& span, const Tiling& tiling) {
  const double high = static_cast<double>(padded_to(rows.size(), tiling.strip_rows()));
  const double wide = static_cast<double>(padded_to(span.columns.size(), tiling.per_strip)) + kColumnsOfSpan;
  return high * wide * (span.partial ? kWorkOfPartial : 1.0);
}
double work_of_rows(const Range& rows, const Tiling& tiling) {
  return static_cast<double>(padded_to(rows.size(), tiling.strip_rows())) * kColumnsOfSpan;
}

}  // namespace

Units::Units(const PairSpans& spans, const Tiling& tiling) {
  double all = 0;
  const auto each_tile = [&](auto visit) {
    for (std::int64_t b = 0; b < spans.blocks(); ++b) {
      const Range block = spans.rows_of(b);
      for (std::int64_t row = block.from; row < block.to; row += tiling.rows)
        visit(Range{row, std::min(row + tiling.rows, block.to)}, spans.begin(b), spans.end(b));
    }
  };
  each_tile([&](const Range& rows, const PairSpan* first, const PairSpan* last) {
    all += work_of_rows(rows, tiling);
    for (const PairSpan* span = first; span != last; ++span) {
      all += work_of(rows, *span, tiling);
      columns_[span->partial] += span->columns.size();
    }
  });
  tasks_ = std::max<std::int64_t>(std::min<std::int64_t>(kTasks, static_cast<std::int64_t>(all / kPairsOfTask)), 1);
  const double most = all / static_cast<double>(tasks_) / kUnitsOfTask;
  each_tile([&](const Range& rows, const PairSpan* first, const PairSpan* last) {
    add_rows(rows, first, last, tiling, most);
  });
}

// Rows with more work than `most` are several units, which end within spans where these are long.
void Units::add_rows(const Range& rows, const PairSpan* first, const PairSpan* last, const Tiling& tiling,
                     double most) {
  const double so_far = ends_.empty() ? 0 : static_cast<double>(ends_.back());
  double work = work_of_rows(rows, tiling), before = 0;
  const std::size_t first_unit = units_.size();
  std::int64_t from = static_cast<std::int64_t>(spans_.size());
  const auto end_unit = [&] {
    const auto to = static_cast<std::int64_t>(spans_.size());
    units_.push_back({rows, from, to, units_.size() == first_unit, false});
    ends_.push_back(static_cast<std::int64_t>(so_far + before + work));
    before += work;
    work = 0;
    from = to;
  };
  for (const PairSpan* span = first; span != last; ++span) {
    PairSpan left = *span;
    const double each = work_of(rows, {{0, tiling.columns}, span->partial}, tiling);
    const std::int64_t step = std::max<std::int64_t>(static_cast<std::int64_t>(most / each), 1) * tiling.columns;
    while (left.columns.size() > 0) {
      const PairSpan part{{left.columns.from, std::min(left.columns.from + step, left.columns.to)}, left.partial};
      const double more = work_of(rows, part, tiling);
      if (work > 0 && static_cast<std::int64_t>(spans_.size()) > from && work + more > 1.5 * most) end_unit();
      spans_.push_back(part);
      work += more;
      left.columns.from = part.columns.to;
    }
  }
  end_unit();
  units_.back().ends = true;
}

Range Units::of_task(std::int64_t task) const {
  const auto units = static_cast<Index>(units_.size());
  const auto begin = [&](std::int64_t k) -> std::int64_t {
    if (k == tasks_) return units;
    return partition::lower_bound(ends_, 0, units, partition::even_split(ends_.back(), tasks_, k) + 1);
  };
  return units == 0 ? Range{} : Range{task == 0 ? 0 : begin(task), begin(task + 1)};
}

}  // namespace kernweave
