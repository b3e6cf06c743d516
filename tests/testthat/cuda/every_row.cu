// Every row of both tables, every cut of sorted lists and every operator of arrays, once, in float and in double: what
// nvcc and NVRTC must both accept.
#include "kernweave/arrays/operators.hpp"
#include "kernweave/ops.hpp"
#include "kernweave/partition.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {

template <class L>
__host__ __device__ void every_operation(const L* in, L* out) {
  const int attributes[2] = {1, 2};
  const Read<L> x{in, 1, 2}, y{in + 2, 1, 2};
  int n = 0;
#define UNARY(Name, ...) out[n++] = op::Name::eval(in[0]);
#define BINARY(Name, ...) out[n++] = op::Name::eval(in[0], in[1]);
#define TERNARY(Name, ...) out[n++] = op::Name::eval(in[0], in[1], in[2]);
#define FOLD1(Name, ...) out[n++] = op::Name::next(op::Name::template start<L>(), in[0]);
#define FOLD2(Name, ...) out[n++] = op::Name::next(op::Name::template start<L>(), in[0], in[1]);
#define LOOP1(Name, ...) \
  op::Name::loop(x, out + n, 2, attributes); \
  n += 2;
#define LOOP2(Name, ...) \
  op::Name::loop(x, y, out + n, 2, attributes); \
  n += 4;
#include "kernweave/ops.def"
}

template <class State, class L>
__host__ __device__ void one_reduction(const L* in, L* values, Index* indices, void* storage) {
  const int k = 2;
  State early, late;
  early.init(storage, k);
  late.init(static_cast<char*>(storage) + State::storage(k), k);
  early.step(in[0], in[1], 1, true);
  late.step(in[2], in[3], 2, in[2] < in[3]);
  early.merge(late, 0);
  early.finish(values, indices);
}

template <class L>
__host__ __device__ void every_reduction(const L* in, L* values, Index* indices, void* storage) {
  int n = 0;
#define REDUCTION(Name, ...) \
  one_reduction<red::Name<L>>(in, values + n, indices + n, storage); \
  n += 2;
#include "kernweave/reductions.def"
}

}  // namespace kernweave

#ifdef KW_TEST_FLOAT
using Number = kernweave::Scalar<float>;
#else
using Number = kernweave::Scalar<double>;
#endif

extern "C" __global__ void operations(const Number* in, Number* out) { kernweave::every_operation(in, out); }

extern "C" __global__ void reductions(const Number* in, Number* values, kernweave::Index* indices, void* storage) {
  kernweave::every_reduction(in, values, indices, storage);
}

extern "C" __global__ void cuts(const Number* a, const Number* b, const int* ends, long long n, long long* out) {
  namespace cut = kernweave::partition;
  out[0] = cut::merge_path(a, n, b, n, cut::even_split(2 * n, 3, 1));
  out[1] = cut::balanced_path(a, n, b, n, n).a;
  const cut::Place from = cut::walk_to(ends, n, n, n / 2), to = cut::walk_to(ends, n, n, n);
  cut::walk(ends, from, to, [=](long long object, long long item) { out[item] = object; }, [](long long) {});
  out[2] = cut::object_of(ends, n, n - 1);
}

#ifndef KW_TEST_FLOAT  // operators of arrays are of doubles
struct Own {
  __device__ long long operator()(long long k) const { return k + 1; }
};

template <class Operator>
__device__ double* one_operator(const double* x, long long n, double* out) {
  Operator early, late;
  early.init();
  late.init();
  kernweave::operators::fold(x, n, Own(), &early);
  kernweave::operators::fold(x + n, n, Own(), &late);
  early.merge(late);
  early.finish(out);
  return out + Operator::kResults;
}

extern "C" __global__ void arrays(const double* x, long long n, double* out) {
  using namespace kernweave::operators;
  out = one_operator<Sum<true>>(x, n, out);
  out = one_operator<WholeSum<false>>(x, n, out);
  out = one_operator<Prod<false>>(x, n, out);
  out = one_operator<Min<true>>(x, n, out);
  out = one_operator<Max<false>>(x, n, out);
  out = one_operator<Range<true>>(x, n, out);
  out = one_operator<Mean<true>>(x, n, out);
  out = one_operator<Any<false, true>>(x, n, out);
  out = one_operator<ArgMin<-1>>(x, n, out);
  out = one_operator<LogSumExp<true>>(x, n, out);
}
#endif
