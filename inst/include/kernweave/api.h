// Sums over pairs, neighbours, orders and index_add() on plain numbers, for C and C++ code of other packages.
//
// A package that uses this header has `LinkingTo: kernweave` and `Imports: kernweave` in DESCRIPTION, and imports one
// function in NAMESPACE, so that kernweave is loaded first: importFrom(kernweave, reduction_pointer).
//
// - Call these functions on R's main thread. They use `threads` threads themselves; 0 lets kernweave decide.
// - Matrices lie column by column, as in R. Row numbers count from 1, as in R; a missing row number is NA_INTEGER.
// - Each function returns KERNWEAVE_OK or the cause of its failure, with a sentence about it in `error`, which may be
//   NULL. No exception and no error of R crosses the border. After a failure, results are undefined. An interrupt by
//   the user is KERNWEAVE_INTERRUPTED: free your memory, and leave with an error of your own.
// - Results are the same bits for any number of threads.
#ifndef KERNWEAVE_API_H
#define KERNWEAVE_API_H

#include <R_ext/Rdynload.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header. kernweave_api_version() is that of the installed package, which supports older headers.
#define KERNWEAVE_API 1

// The causes of failure, as in ?`kernweave-conditions`.
enum kernweave_status {
  KERNWEAVE_INTERRUPTED = -1,
  KERNWEAVE_OK = 0,
  KERNWEAVE_INPUT,
  KERNWEAVE_SHAPE,
  KERNWEAVE_KIND,
  KERNWEAVE_SYNTAX,
  KERNWEAVE_UNKNOWN_OP,
  KERNWEAVE_UNSUPPORTED,
  KERNWEAVE_NO_DEVICE,
  KERNWEAVE_NO_GRADIENT,
  KERNWEAVE_INDEX,
  KERNWEAVE_MEMORY,
  KERNWEAVE_INDEFINITE,
  KERNWEAVE_INTERNAL,
  KERNWEAVE_TIME_LIMIT,
  KERNWEAVE_VALUE,
  KERNWEAVE_DISK,
  KERNWEAVE_FILE_CHANGED
};

typedef struct {
  int status;
  char text[1024];
} kernweave_error;

// A matrix whose rows are points. `data` may be NULL if there are no rows.
typedef struct {
  const double* data;
  int64_t rows, columns;
} kernweave_matrix;

// A column to order by: one of the two pointers is NULL.
typedef struct {
  const double* doubles;
  const int* integers;
  int decreasing;
} kernweave_key;

// Defines a function that looks its address up once.
#define KERNWEAVE_FUNCTION(name, parameters, arguments) \
  typedef int name##_type parameters; \
  static inline int name parameters { \
    static name##_type* found = NULL; \
    if (!found) found = (name##_type*)(void (*)(void))R_GetCCallable("kernweave", #name); \
    return found arguments; \
  }

KERNWEAVE_FUNCTION(kernweave_api_version, (void), ())

// out = K(x, y) b: the sum over the rows of y of kernel(x[i, ], y[j, ]) * b[j, ], x.rows * b.columns numbers.
// `kernel` names a function of r = distance / `scale`: "gaussian" exp(-r^2 / 2), "laplacian" exp(-r), "matern32",
// "matern52", "cauchy" 1 / (1 + r^2), "inverse_multiquadric" 1 / sqrt(1 + r^2), "energy" -r, "thin_plate" r^2 log(r).
// For other kernels, other reductions and a scale for each component, use kernweave_reduce().
KERNWEAVE_FUNCTION(kernweave_sum,
                   (const char* kernel, double scale, kernweave_matrix x, kernweave_matrix y, kernweave_matrix b,
                    int threads, double* out, kernweave_error* error),
                   (kernel, scale, x, y, b, threads, out, error))

// Computes a reduction that was prepared in R: reduction_pointer(sum(F, index = "j")), where F has placeholders, gives
// an external pointer, and `reduction` is its R_ExternalPtrAddr(). Keep that pointer from R's collector. `operands` has
// the data of the `count` placeholders in the order in which the pointer prints them. `values` gets the results, a row
// for each point kept; `numbers` gets results that are row numbers (argmin; both: min_argmin, Kmin_argKmin); an unused
// pointer may be NULL. There is room for `size` numbers: rows times K times components.
KERNWEAVE_FUNCTION(kernweave_reduce,
                   (const void* reduction, const kernweave_matrix* operands, int count, int threads, double* values,
                    double* numbers, int64_t size, kernweave_error* error),
                   (reduction, operands, count, threads, values, numbers, size, error))

// Finds the k points nearest to each row of `query`: query.rows x k numbers, nearest first, at equal distances the
// lower row number first. `exclude_self`: query and points are the same, and no row is its own neighbour. `distance`
// may be NULL. Pairs whose distance is NaN are skipped: a missing neighbour is NA_INTEGER, at distance Inf.
KERNWEAVE_FUNCTION(kernweave_nearest,
                   (kernweave_matrix query, kernweave_matrix points, int k, int exclude_self, int threads, int* index,
                    double* distance, kernweave_error* error),
                   (query, points, k, exclude_self, threads, index, distance, error))

// Finds the points within a radius of each row of `query`, nearest first, in two calls: with `index` NULL it fills
// `offsets`, query.rows + 1 numbers; then, with the same offsets, it fills `index` and `distance` (which may be NULL),
// offsets[query.rows] numbers each. Counted from 0, row i has its neighbours at offsets[i] to offsets[i + 1] - 1.
KERNWEAVE_FUNCTION(kernweave_radius,
                   (kernweave_matrix query, kernweave_matrix points, double radius, int exclude_self, int threads,
                    int64_t* offsets, int* index, double* distance, kernweave_error* error),
                   (query, points, radius, exclude_self, threads, offsets, index, distance, error))

// Finds the stable order of `rows` rows by `count` keys, the first key first, missing values last.
KERNWEAVE_FUNCTION(kernweave_order,
                   (const kernweave_key* keys, int count, int64_t rows, int threads, int* order,
                    kernweave_error* error),
                   (keys, count, rows, threads, order, error))

// Adds alpha * source[, s, ] to array[, index[s], ] for each s in turn. The array is `before` x `extent` x `after`, the
// source `before` x `items` x `after`: rows of a matrix have before = 1, columns after = 1.
KERNWEAVE_FUNCTION(kernweave_index_add,
                   (double* array, int64_t before, int64_t extent, int64_t after, const int* index, int64_t items,
                    const double* source, double alpha, int threads, kernweave_error* error),
                   (array, before, extent, after, index, items, source, alpha, threads, error))

#undef KERNWEAVE_FUNCTION

#ifdef __cplusplus
}
#endif
#endif
