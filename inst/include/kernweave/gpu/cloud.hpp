// Kernels that find properties of points that stay on a device. The work of a thread is a function of its number alone.
// The host's compiler reads the same text.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The arguments of all kernels; each kernel reads some of them.
struct CloudTask {
  long long count;  // threads that have work
  long long rows, columns;
  const double* points;  // column by column
  long long step;
  const double* centre;
  double* out;
};

// Copies rows 0, step, 2 step, ..., column by column.
KW_FN void some_rows(const CloudTask& t, long long at) {
  const long long some = (t.rows + t.step - 1) / t.step;
  t.out[at] = t.points[at / some * t.rows + at % some * t.step];
}

// Computes the largest squared distance of rows at, at + count, ... from the centre. The maximum ignores a NaN, so
// total - total is added, which is 0 for a finite total, else NaN.
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
