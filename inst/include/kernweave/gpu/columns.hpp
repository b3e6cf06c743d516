// Kernels for long columns that stay on a device. The work of a thread is a function of its number alone, and no two
// threads write the same place: sums have a fixed order. The host's compiler reads the same text.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The most columns of a launch with a factor for each column.
inline constexpr int kColumnFactors = 64;

// The arguments of all kernels; each kernel reads some of them.
struct ColumnTask {
  long long count;  // threads that have work
  long long rows, columns;
  const double *x, *y;  // null stands for zeros
  double *out, *second, *third;
  // Row k and column c lie at from + at[k] * row_step + c * column_step; without `at`, at[k] = k.
  const int *x_at, *out_at;
  long long x_row, x_column, out_row, out_column;
  long long parts;  // sums of each column
  double by[kColumnFactors];
  // A sparse factor: `slots` numbers a column beside the diagonal, and their places; or the factor by rows.
  int slots, together;
  const int* places;
  const double* values;
  const long long* starts;
  const double* row_values;
};

// out = x + y by, a factor for each column. `out` may be x or y.
KW_FN void weighed_sum(const ColumnTask& t, long long at) {
  const double first = t.x ? t.x[at] : 0.0;
  t.out[at] = t.y ? first + t.y[at] * t.by[at / t.rows] : first;
}

// out = x + by diag(values) y.
KW_FN void scaled_rows(const ColumnTask& t, long long at) {
  const double first = t.x ? t.x[at] : 0.0;
  t.out[at] = first + t.by[0] * t.values[at % t.rows] * t.y[at];
}

// Copies rows and columns of x to rows and columns of out, with any strides; with y, which has the strides of out,
// writes y + by[0] x. Threads run along the axis that is contiguous in out.
KW_FN void moved(const ColumnTask& t, long long at) {
  const bool by_columns = t.out_column == 1;
  const long long row = by_columns ? at / t.columns : at % t.rows, column = by_columns ? at % t.columns : at / t.rows;
  const long long to = (t.out_at ? t.out_at[row] : row) * t.out_row + column * t.out_column;
  const double number = t.x[(t.x_at ? t.x_at[row] : row) * t.x_row + column * t.x_column];
  t.out[to] = t.y ? t.y[to] + t.by[0] * number : number;
}

// Computes part k of a column's inner product: the sum over rows k, k + parts, ...
KW_FN void partial_dots(const ColumnTask& t, long long at) {
  const long long part = at % t.parts, first = at / t.parts * t.rows;
  double sum = 0;
  for (long long k = first + part; k < first + t.rows; k += t.parts) sum += t.x[k] * t.y[k];
  t.out[at] = sum;
}

// Computes part k of a column: the sum of rows k, k + parts, ...
KW_FN void partial_sums(const ColumnTask& t, long long at) {
  const long long part = at % t.parts, first = at / t.parts * t.rows;
  double sum = 0;
  for (long long k = first + part; k < first + t.rows; k += t.parts) sum += t.x[k];
  t.out[at] = sum;
}

// out = x U, where x has few rows and a column for each point, and U is upper triangular with some slots a column.
KW_FN void factor_by_columns(const ColumnTask& t, long long at) {
  const long long row = at % t.rows, point = at / t.rows;
  const int* const places = t.places + point * t.slots;
  const double* const values = t.values + point * (t.slots + 1);
  double sum = values[t.slots] * t.x[at];
  for (int s = 0; s < t.slots; ++s)
    if (places[s] >= 0) sum += values[s] * t.x[row + t.rows * places[s]];
  t.out[at] = sum;
}

// out = x U', from the numbers of U by rows: `places` are the columns of `row_values`.
KW_FN void factor_by_rows(const ColumnTask& t, long long at) {
  const long long row = at % t.rows, point = at / t.rows;
  double sum = t.values[point * (t.slots + 1) + t.slots] * t.x[at];
  for (long long e = t.starts[point]; e < t.starts[point + 1]; ++e)
    sum += t.row_values[e] * t.x[row + t.rows * t.places[e]];
  t.out[at] = sum;
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
