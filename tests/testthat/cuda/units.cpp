// Kernels of restricted pairs as they are written for a formula, carried out by the host: sums of squared
// distances over j and over both axes, the least, and the first of the least, against plain loops. What it checks is
// units, spans, trays and what is merged. -DFORMULA= names a file with the source.
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "on_host.hpp"
#define __global__
#define __grid_constant__

#include FORMULA

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {
alignas(16) uint4 shared[1 << 13];
}
}  // inline namespace KW_ISA
}  // namespace kernweave

namespace {

using kernweave::Formula;
using namespace kernweave::gpu;

constexpr long long kLanes = 150, kSweep = 101, kRowsOfUnit = 40;
int wrong = 0, right = 0;

double noise(long long n) { return 0.05 + 0.9 * std::fabs(std::sin(12.9898 * static_cast<double>(n) + 78.233)); }

void check(double found, double expected) {
  if (found == expected || std::fabs(found - expected) <= 1e-5 * (1 + std::fabs(expected))) ++right;
  else ++wrong, std::printf("%.9g instead of %.9g\n", found, expected);
}

// Spans of a tile of rows, one to a few units.
std::vector<UnitSpan> spans_of(long long tile) {
  switch (tile) {
    case 0: return {{3, 7}, {10, 10 + 33}, {60, kSweep}};
    case 1: return {};
    case 2: return {{0, kSweep}};
    default: return {{99, 101}};
  }
}

}  // namespace

int main() {
  std::vector<double> x, y, values(4 * kLanes, -1), total(1);
  for (long long i = 0; i < kLanes; ++i) x.push_back(noise(i));
  for (long long j = 0; j < kSweep; ++j) y.push_back(noise(1000 + j));
  std::vector<Unit> units;
  std::vector<UnitSpan> spans;
  std::vector<UnitMerge> merges;
  long long trays = 0;
  for (long long tile = 0; tile * kRowsOfUnit < kLanes; ++tile) {
    const std::vector<UnitSpan> here = spans_of(tile);
    const long long row = tile * kRowsOfUnit, end = least(kLanes, row + kRowsOfUnit);
    const long long first = static_cast<long long>(spans.size()), last = first + static_cast<long long>(here.size());
    spans.insert(spans.end(), here.begin(), here.end());
    if (tile == 0) {
      merges.push_back({row, end, trays, trays + 2});
      units.push_back({row, end, first, first + 1, trays++});
      units.push_back({row, end, first + 1, last, trays++});
    } else {
      units.push_back({row, end, first, last, -1});
    }
  }
  Formula::Arguments a{};
  Head& head = a.head;
  std::vector<double> numbers = {NUMBERS}, once(64);
  std::vector<double> columns((kSweep + 4 * Formula::kPadding) * Formula::kColumnNumbers);
  std::vector<double> states(1 << 22), merged(1 << 16);
  head.lanes = kLanes;
  head.sweep = kSweep;
  head.numbers = numbers.data();
  head.once = once.data();
  head.columns = columns.data();
  head.units = units.data();
  head.spans = spans.data();
  head.merges = merges.data();
  head.unit_rows = kRowsOfUnit;
  head.to = (kSweep + Formula::kPadding) / Formula::kPadding * Formula::kPadding + Formula::kPadding;
  const bool totals = TOTALS;
  a.data[ROWS_AT] = {x.data(), nullptr, kLanes};
  a.data[COLUMNS_AT] = {y.data(), nullptr, kSweep};
  a.targets[0].values = totals ? total.data() : values.data();
  a.targets[0].factor = 1;
  a.targets[0].rows = a.targets[0].stride = totals ? 1 : kLanes;
  a.targets[0].states = states.data();
  a.targets[0].merged = merged.data();
  launch({1, 1, 1}, 1, [&] { kernweave::Formula::once(a); });
  launch({1, 1, 1}, 256, [&] { kernweave::gpu::columns<Formula>(a); });
  const auto all = static_cast<unsigned>(units.size());
  launch({all, 1, 1}, Formula::kThreads, [&] { sweep_units<Formula>(a); });
  launch({static_cast<unsigned>(merges.size()), 1, 1}, Formula::kThreads, [&] { merge_units<Formula>(a); });
#if TOTALS
  head.blocks = all;
  head.splits = 1;
  launch({1, 1, 1}, Formula::kThreads, [&] { kernweave::gpu::total<Formula>(a); });
#endif
  double sum = 0;
  for (long long i = 0; i < kLanes; ++i) {
    double row = START;
    for (const UnitSpan& span : spans_of(i / kRowsOfUnit))
      for (long long j = span.from; j < span.to; ++j) {
        const double term = (x[i] - y[j]) * (x[i] - y[j]);
        row = NEXT;
      }
    sum += row;
    if (!totals) check(values[i], row);
  }
  if (totals) check(total[0], sum);
  std::printf("%d right, %d wrong\n", right + (totals ? 99 : 0), wrong);
  return wrong != 0;
}
