// Kernels for pairs of points far apart: moments of boxes (P2M), local expansions (M2L), values at points (L2P). Each
// sum has one order, whatever blocks of threads come first.
#pragma once
#include "far_task.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Returns the place of a point along an axis of a box, from -1 to 1.
__device__ inline double place_in_box(const FarTask& t, const FarCentre& centre, int point, int axis) {
  return ((t.points[axis * t.behind + point] - centre.at[axis]) - centre.rest[axis]) / t.half;
}

// Returns where the numbers of a box, or of a pair of boxes, lie for a slot.
__device__ inline long long far_at(const FarTask& t, long long box, int slot) {
  return (box * t.spread.count() + slot) * t.stride;
}

// --- moments ---

// Writes, for points `first`.., their weights in the block's slot and their Chebyshev polynomials.
template <int D>
__device__ void write_polynomials(const FarTask& t, const FarCentre& centre, int first, int count, double* shared) {
  for (int k = threadIdx.x; k < count * D; k += kFarThreads) {
    const int point = k % count, axis = k / count;
    double* const to = shared + point * far_point_numbers<D>();
    const double u = place_in_box(t, centre, first + point, axis);
    if (axis == t.spread.component(blockIdx.y))
      to[0] = t.weights[first + point] * to_power(-u, t.spread.exponent(blockIdx.y));
    double before = u, now = 1;  // T_{a - 1}, T_a
    for (int a = 0; a < t.degrees; ++a) {
      to[1 + axis * kFarDegrees<D> + a] = now;
      const double next = 2 * u * now - before;
      before = now;
      now = next;
    }
  }
}

// Sums the weights of a box's points times each term, into `expansions` by the number of the range. A thread has one
// choice of the leading degrees, all degrees of the last axis, and some of the points.
template <int D>
__device__ void far_moments(const FarTask& t) {
  extern __shared__ double shared[];
  constexpr int kMost = kFarDegrees<D>;
  const PointRange range = t.ranges[blockIdx.x];
  const FarCentre centre = t.centres[range.place];
  const int p = t.degrees, leading = far_power(p, D - 1), slices = far_slices(leading);
  const int own = threadIdx.x % leading, slice = threadIdx.x / leading, end = t.ends[own];
  double sums[kMost];
#pragma unroll
  for (int c = 0; c < kMost; ++c) sums[c] = 0;
  for (int first = range.begin; first < range.end; first += kFarPoints) {
    const int count = range.end - first < kFarPoints ? range.end - first : kFarPoints;
    __syncthreads();
    write_polynomials<D>(t, centre, first, count, shared);
    __syncthreads();
    for (int k = slice; slice < slices && k < count; k += slices) {
      const double* const of = shared + k * far_point_numbers<D>();
      double weight = of[0];
      if (D == 2) weight *= of[1 + own];
      if (D == 3) weight *= of[1 + own / p] * of[1 + kMost + own % p];
      const double* const last = of + 1 + (D - 1) * kMost;
#pragma unroll
      for (int c = 0; c < kMost; ++c)
        if (c < end) sums[c] += weight * last[c];
    }
  }
  __syncthreads();
  if (slice < slices) {
#pragma unroll
    for (int c = 0; c < kMost; ++c)
      if (c < p) shared[(slice * leading + own) * p + c] = sums[c];
  }
  __syncthreads();
  for (int k = threadIdx.x; k < t.terms; k += kFarThreads) {
    double sum = 0;
    for (int s = 0; s < slices; ++s) sum += shared[s * leading * p + t.set[k]];
    t.expansions[far_at(t, blockIdx.x, blockIdx.y) + k] = sum;
  }
}

// Adds up the moments of a box's ranges, in their order.
__device__ inline void far_added(const FarTask& t) {
  const long long box = blockIdx.x;
  for (int k = threadIdx.x; k < t.terms; k += kFarThreads) {
    double sum = 0;
    for (int s = t.part_starts[box]; s < t.part_starts[box + 1]; ++s)
      sum += t.parts[far_at(t, s, blockIdx.y) + k];
    t.expansions[far_at(t, box, blockIdx.y) + k] = sum;
  }
}

// --- from box to box ---

// Calls f(pair, term, the permuted term's place, sign) for all pairs and terms of a batch.
template <class F>
__device__ void each_permuted(const FarTask& t, const FarBatch& batch, F f) {
  const int* const permuted = t.permuted + batch.permutation * t.terms;
  for (int at = threadIdx.x; at < batch.count * t.terms; at += kFarThreads) {
    const int pair = at / t.terms, k = at % t.terms, place = permuted[k];
    if (place < 0) f(pair, k, ~place, -1.0);
    else f(pair, k, place, 1.0);
  }
}

// M2L: permutes a batch's moments, multiplies by the matrix of its class, permutes back, writes to `found` by the
// pair's number. Thread k has pair k % width, and blocks of rows k / width, k / width + kFarThreads / width, ...
__device__ inline void far_apply(const FarTask& t) {
  extern __shared__ double shared[];
  const FarBatch batch = t.batches[blockIdx.x];
  const int stride = t.width + 1;
  double* const in = shared;
  double* const out = shared + t.stride * stride;
  each_permuted(t, batch, [&](int pair, int k, int place, double sign) {
    in[place * stride + pair] = sign * t.expansions[far_at(t, t.sources[batch.first + pair], blockIdx.y) + k];
  });
  __syncthreads();
  const int pair = threadIdx.x % t.width;
  const int* const starts = t.starts + batch.offset_class * (t.blocks + 1);
  const double2* const numbers = reinterpret_cast<const double2*>(t.numbers);
  for (int block = threadIdx.x / t.width; block < t.blocks; block += kFarThreads / t.width) {
    double a = 0, b = 0, c = 0, d = 0;
    const int end = starts[block + 1];
#pragma unroll 4
    for (int e = starts[block]; e < end; ++e) {
      const double x = in[t.columns[e] * stride + pair];
      const double2 first = numbers[2 * e], last = numbers[2 * e + 1];
      a += first.x * x;
      b += first.y * x;
      c += last.x * x;
      d += last.y * x;
    }
    double* const to = out + block * kFarRowsOfBlock * stride + pair;
    to[0] = a;
    to[stride] = b;
    to[2 * stride] = c;
    to[3 * stride] = d;
  }
  __syncthreads();
  each_permuted(t, batch, [&](int pair_of_term, int k, int place, double sign) {
    t.found[far_at(t, batch.first + pair_of_term, blockIdx.y) + k] = sign * out[place * stride + pair_of_term];
  });
}

// Adds up the results of a target's pairs, in their order. With offset o, a power of o - v is a sum of powers of -v.
__device__ inline void far_collected(const FarTask& t) {
  const long long target = t.first + blockIdx.x;
  const int exponent = t.spread.exponent(blockIdx.y), axis = t.spread.component(blockIdx.y),
            begin = t.pair_starts[blockIdx.x], end = t.pair_starts[blockIdx.x + 1];
  const auto sum_of = [&](int slot, int k, auto times) {
    double sum = 0;
    for (int s = begin; s < end; ++s) sum += times(t.pairs[s]) * t.found[far_at(t, t.pairs[s], slot) + k];
    return sum;
  };
  for (int k = threadIdx.x; k < t.terms; k += kFarThreads) {
    double sum = sum_of(blockIdx.y, k, [](int) { return 1.0; });
    for (int r = 0; r < exponent; ++r)
      sum += sum_of(t.spread.at(r, axis), k, [&](int pair) {
        const int boxes = t.centres[target].box[axis] - t.of_sources[t.sources[pair]].box[axis];
        return binomial_term(exponent, r, 2.0 * boxes);
      });
    t.expansions[far_at(t, target, blockIdx.y) + k] = sum;
  }
}

// --- values ---

// Computes the sum over the last axis's degrees of coefficients times polynomials.
template <int kMost>
__device__ double along_last(const double* coefficients, const double (&polynomials)[kMost], int degrees) {
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kMost; ++c)
    if (c < degrees) sum += coefficients[c] * polynomials[c];
  return sum;
}

// Computes the sum over the degrees of an axis of polynomials at position u times f(degree).
template <class F>
__device__ double along_axis(double u, int degrees, F f) {
  double sum = 0, before = u, now = 1;
  for (int a = 0; a < degrees; ++a) {
    sum += now * f(a);
    const double next = 2 * u * now - before;
    before = now;
    now = next;
  }
  return sum;
}

// Adds the value of a slot's local expansion at a point, whose place is u, to the sums that contain it.
template <int D>
__device__ void add_value(const FarTask& t, int slot, int point, const double (&u)[D], double value) {
  const double scale = to_power(t.half, t.spread.power);
#pragma unroll
  for (int d = 0; d < D; ++d)
    if (t.spread.is_of(slot, d))
      t.sums[d * t.behind + point] += scale * binomial_term(t.spread.power, t.spread.exponent(slot), u[d]) * value;
}

// Adds to the sums of each point of a range the values of its box's local expansion. Each thread has one point.
template <int D>
__device__ void far_evaluated(const FarTask& t) {
  extern __shared__ double shared[];
  constexpr int kMost = kFarDegrees<D>;
  const PointRange range = t.ranges[blockIdx.x];
  const int p = t.degrees, all = far_power(p, D), point = range.begin + threadIdx.x;
  const bool is_there = point < range.end;
  const FarCentre centre = t.centres[range.place];
  double u[D], last[kMost];
  for (int d = 0; d < D; ++d) u[d] = is_there ? place_in_box(t, centre, point, d) : 0;
#pragma unroll
  for (int c = 0; c < kMost; ++c) last[c] = c == 0 ? 1 : c == 1 ? u[D - 1] : 2 * u[D - 1] * last[c - 1] - last[c - 2];
  const auto of_last = [&](int leading) { return along_last(shared + leading * p, last, t.ends[leading]); };
  for (int k = threadIdx.x; k < all; k += kFarEvaluated) shared[k] = 0;
  for (int slot = 0; slot < t.spread.count(); ++slot) {
    __syncthreads();
    for (int k = threadIdx.x; k < t.terms; k += kFarEvaluated)
      shared[t.set[k]] = t.expansions[far_at(t, range.place, slot) + k];
    __syncthreads();
    if (!is_there) continue;
    double value;
    if constexpr (D == 1) value = of_last(0);
    if constexpr (D == 2) value = along_axis(u[0], p, of_last);
    if constexpr (D == 3)
      value = along_axis(u[0], p, [&](int a) {
        return along_axis(u[1], p, [&](int b) { return of_last(a * p + b); });
      });
    add_value(t, slot, point, u, value);
  }
}

// --- orders ---

__device__ inline long long far_number() { return blockIdx.x * static_cast<long long>(kFarThreads) + threadIdx.x; }

__device__ inline void far_cleared(const FarTask& t) {
  const long long at = far_number();
  if (at < t.count) t.sums[at] = 0;
}
// Puts weights into the order of boxes.
__device__ inline void far_sorted(const FarTask& t) {
  const long long at = far_number(), point = at % t.rows;
  if (at >= t.count) return;
  const double weight = t.weights[at - point + t.order[point]];
  t.sums[at] = weight;
  if (t.not_finite && !(weight - weight == 0)) *t.not_finite = 1;
}
// Multiplies weights by a factor of each point.
__device__ inline void far_scaled(const FarTask& t) {
  const long long at = far_number();
  if (at < t.count) t.sums[at] = t.weights[at] * t.factors[at % t.rows];
}
// Puts two sums into the order of points. Before that, multiplies the first, which has a sum for each component of the
// difference, by numbers and factors of rows.
__device__ inline void far_put_back(const FarTask& t) {
  const long long at = far_number(), point = at % t.rows;
  if (at >= t.count) return;
  const int axes = t.spread.components, first = static_cast<int>(at / t.rows % t.components) * t.summands;
  const double* const sums = t.weights + at / t.rows / t.components * axes * t.rows + point;
  double far = 0;
  for (int component = first; component < first + t.summands; ++component) {
    double of_one = 0;
    for (int axis = 0; axis < axes; ++axis) of_one += t.of_components[component * axes + axis] * sums[axis * t.rows];
    far += t.factors ? t.factors[component * t.factors_behind + point] * of_one : of_one;
  }
  t.sums[at - point + t.order[point]] = far + (t.more ? t.more[at] : 0.0);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
