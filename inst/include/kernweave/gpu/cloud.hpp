// Kernels for what is asked of points that stay on a device. What each thread does is a function of its number alone.
// The host's compiler reads the same text.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Arguments of each of the kernels; which of them it reads stands with it.
struct CloudTask {
  long long count;  // threads that have work
  long long rows, columns;
  const double* points;  // column by column
  long long step;
  const double* centre;
  double* out;
};

// Rows 0, step, 2 step, ..., column by column.
KW_FN void some_rows(const CloudTask& t, long long at) {
  const long long some = (t.rows + t.step - 1) / t.step;
  t.out[at] = t.points[at / some * t.rows + at % some * t.step];
}

// The largest squared distance from the centre of rows at, at + count, ... A maximum would lose a NaN, their total does
// not: less itself it is 0 where it is finite, else NaN.
KW_FN void partial_reach(const CloudTask& t, long long at) {
  double most = 0, total = 0;
  for (long long row = at; row < t.rows; row += t.count) {
    double squares = 0;
    for (long long d = 0; d < t.columns; ++d) {
      const double x = t.points[d * t.rows + row] - t.centre[d];
      squares += x * x;
    }
    most = most < squares ? squares : most;
    total += squares;
  }
  t.out[at] = most + (total - total);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
