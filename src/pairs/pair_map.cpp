// Joins spans that touch, since fewer spans are less work, and equal lists of spans are easily found.
#include "pairs/pair_map.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace kernweave {
namespace {

bool same_span(const PairSpan& a, const PairSpan& b) { return a.columns == b.columns && a.partial == b.partial; }

void append(const PairSpan& span, std::vector<PairSpan>* to) {
  if (span.columns.size() <= 0) return;
  if (!to->empty() && to->back().columns.to == span.columns.from && to->back().partial == span.partial)
    to->back().columns.to = span.columns.to;
  else to->push_back(span);
}

}  // namespace

Range PairSpans::rows_of(std::int64_t block) const {
  const auto b = static_cast<std::size_t>(block);
  return {b == 0 ? 0 : row_ends_[b - 1], row_ends_[b]};
}

void PairSpans::add_block(std::int64_t end, const std::vector<PairSpan>& spans) {
  const std::int64_t start = row_ends_.empty() ? 0 : row_ends_.back();
  internal_check(end >= start && end <= rows, "a block of rows up to ", end, " of ", rows);
  if (end == start) return;
  std::vector<PairSpan> joined;
  for (const PairSpan& span : spans) append(span, &joined);
  const std::int64_t last = blocks() - 1;
  if (last >= 0 && std::equal(joined.begin(), joined.end(), begin(last), this->end(last), same_span)) {
    row_ends_.back() = end;
    return;
  }
  spans_.insert(spans_.end(), joined.begin(), joined.end());
  row_ends_.push_back(end);
  span_ends_.push_back(static_cast<std::int64_t>(spans_.size()));
}

bool PairSpans::rectangles() const {
  for (std::int64_t b = 0; b < blocks(); ++b)
    if (end(b) - begin(b) > 1 || (end(b) != begin(b) && begin(b)->partial)) return false;
  return true;
}

double PairSpans::pairs_in(bool partial) const {
  double pairs = 0;
  for (std::int64_t b = 0; b < blocks(); ++b)
    for (const PairSpan* span = begin(b); span != end(b); ++span)
      if (span->partial == partial)
        pairs += static_cast<double>(rows_of(b).size()) * static_cast<double>(span->columns.size());
  return pairs;
}

// Transposes spans. Between two borders of spans, all columns have the same pairs.
PairSpans transposed(const PairSpans& spans) {
  std::vector<std::int64_t> borders{0, spans.columns};
  for (std::int64_t b = 0; b < spans.blocks(); ++b)
    for (const PairSpan* span = spans.begin(b); span != spans.end(b); ++span)
      borders.insert(borders.end(), {span->columns.from, span->columns.to});
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::vector<std::vector<PairSpan>> found(borders.size() - 1);
  for (std::int64_t b = 0; b < spans.blocks(); ++b)
    for (const PairSpan* span = spans.begin(b); span != spans.end(b); ++span) {
      auto at = static_cast<std::size_t>(std::lower_bound(borders.begin(), borders.end(), span->columns.from) -
                                         borders.begin());
      for (; borders[at] < span->columns.to; ++at) append({spans.rows_of(b), span->partial}, &found[at]);
    }
  PairSpans out(spans.columns, spans.rows);
  for (std::size_t k = 0; k < found.size(); ++k) out.add_block(borders[k + 1], found[k]);
  return out;
}

PairSpans spans_of(std::int64_t rows, std::int64_t columns, std::vector<Rectangle> rectangles) {
  const auto before = [](const Rectangle& a, const Rectangle& b) {
    return a.rows.from < b.rows.from || (a.rows.from == b.rows.from && a.columns.from < b.columns.from);
  };
  if (!std::is_sorted(rectangles.begin(), rectangles.end(), before))
    std::sort(rectangles.begin(), rectangles.end(), before);
  PairSpans spans(rows, columns);
  for (std::size_t first = 0, end = 0; first < rectangles.size(); first = end) {
    const Range here = rectangles[first].rows;
    std::vector<PairSpan> found;
    std::int64_t reached = 0;  // columns may be given twice
    for (end = first; end < rectangles.size() && rectangles[end].rows.from == here.from; ++end) {
      const Range& r = rectangles[end].columns;
      internal_check(rectangles[end].rows.to == here.to && r.from >= 0 && r.to <= columns, "rectangles that overlap");
      found.push_back({{std::max(r.from, reached), r.to}, false});
      reached = std::max(reached, r.to);
    }
    spans.add_block(here.from, {});
    spans.add_block(here.to, found);
  }
  spans.fill_up();
  return spans;
}

const PairSpans& PairMap::along(bool i) const {
  if (i) return along_i_;
  if (!along_j_) along_j_.emplace(transposed(along_i_));
  return *along_j_;
}

}  // namespace kernweave
