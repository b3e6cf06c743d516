// RadialTable: a function of the squared distance, or one of its derivatives, read from a table of polynomial pieces.
//
// Every octave of x is cut into 32 equal segments, and a row of the table has the coefficients of one of them: six in
// double, four in float. The leading bits of x are the number of the row; the other bits, as a number t about 0, are
// the argument of the polynomial.
#pragma once
#include "../lane.hpp"
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace radial {

// Truncation of a Chebyshev series on such a segment leaves at most 4 phi(0) rho^-5 / (rho - 1) = 8.4e-13 phi(0), with
// rho = 65 + sqrt(65^2 - 1), for every mixture of Gaussians in the distance; the measured error is 4e-14.
constexpr int kSegmentBits = 5, kSegments = 1 << kSegmentBits, kTerms = 6;
// In float four terms are off by 1.4e-8 phi(0) at most, by the same formula. Rows of 48 bytes in double and of 16 in
// float lie at all multiples of 16 bytes of a GPU's memory banks; with rows of 64 bytes a pair took twice as long.
template <class T>
constexpr int kTermsOf = sizeof(T) == 4 ? 4 : kTerms;
// A table begins with four numbers about its bounds (distance/radial_table.hpp). Then each order has four numbers: the
// place of its first row, the octave of that row, the number of rows, and the power of x by which values are divided.
// The rows for float lie behind the rows for double. Each part begins at a multiple of four numbers.
constexpr int kHead = 4;
enum HeadNumber { kFirstRow, kFirstOctave, kRows, kPole };

template <class T>
struct NumberBits;
template <>
struct NumberBits<double> {
  using Type = long long;
  static constexpr int kMantissa = 52, kBias = 1023;
};
template <>
struct NumberBits<float> {
  using Type = int;
  static constexpr int kMantissa = 23, kBias = 127;
};

#ifdef __CUDA_ARCH__
__device__ __forceinline__ long long bits_of(double x) { return __double_as_longlong(x); }
__device__ __forceinline__ int bits_of(float x) { return __float_as_int(x); }
__device__ __forceinline__ double of_bits(long long bits) { return __longlong_as_double(bits); }
__device__ __forceinline__ float of_bits(int bits) { return __int_as_float(bits); }
#else
template <class To, class From>
KW_FN To same_bits(From x) {
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
KW_FN long long bits_of(double x) { return same_bits<long long>(x); }
KW_FN int bits_of(float x) { return same_bits<int>(x); }
KW_FN double of_bits(long long bits) { return same_bits<double>(bits); }
KW_FN float of_bits(int bits) { return same_bits<float>(bits); }
#endif

// The numbers of one order of a table.
template <class T>
struct TableOrder {
  using Bits = typename NumberBits<T>::Type;
  static constexpr int kMantissa = NumberBits<T>::kMantissa, kShift = kMantissa - kSegmentBits;
  static constexpr Bits kLow = (Bits(1) << kShift) - 1;
  static constexpr Bits kOne = Bits(NumberBits<T>::kBias) << kMantissa;
  static constexpr double kMiddle = 1 + 0.5 / kSegments;
  // Smaller numbers have not all of their bits; in float, a table's values for them may differ from its value at 0.
  static constexpr double kSmallest = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;

  long long first;  // place of the first row in the table
  Bits before;      // subtracted from the leading bits of x to give the number of a row
  T least, most;    // numbers of the first row and of the last; values stay the same beyond
  int pole;

  // `at(k)` is number k of a table of `width` numbers. Rows outside the table are never read, whatever the table says.
  template <class At>
  KW_FN static TableOrder of(At at, long long width, int order) {
    const int head = kHead * (1 + order);
    const T first = at(head + kFirstRow), rows = at(head + kRows), octave = at(head + kFirstOctave),
            pole = at(head + kPole);
    const T end = first + rows * T(kTerms + kTermsOf<float>) + T(3);
    const bool inside = first >= T(0) && rows >= T(1) && end <= T(width) && octave > T(-1022) &&
                        octave + rows / T(kSegments) < T(1000) && pole >= T(0) && pole <= T(order);
    const int from = inside ? static_cast<int>(octave) : 0, last = inside ? static_cast<int>(rows) - 1 : 0;
    const Bits before = Bits(from + NumberBits<T>::kBias) * kSegments - 1;
    return {inside ? static_cast<long long>(first) + rows_before(last + 1) : 0, before, number_of(before),
            number_of(before + last), inside ? static_cast<int>(pole) : 0};
  }

 private:
  // Counts the numbers of an order that lie before its rows for T.
  KW_FN static int rows_before(int rows) { return sizeof(T) == 4 ? (rows * kTerms + 3) / 4 * 4 : 0; }
  // Returns the least number with these leading bits, moved into the range from the least number to the largest.
  KW_FN static T number_of(Bits leading) {
    constexpr Bits kFewest = kSegments, kMost = (2 * Bits(NumberBits<T>::kBias)) * kSegments;
    return of_bits((leading < kFewest ? kFewest : leading > kMost ? kMost : leading) << kShift);
  }
};

// Divides by a power of x; the result is 0 at x = 0: a derivative that is infinite there is taken to be 0.
template <class L>
KW_FN L without_pole(L value, L x, int pole) {
  const L by = select(x == L(0.0), L(0.0), L(1.0) / x);
  for (int k = 0; k < pole; ++k) value = value * by;
  return value;
}

// Reads one order of a table, found before, for any count of numbers. `kAligned`: rows begin at multiples of 16 bytes,
// so that a GPU loads a row as one.
template <class L, bool kAligned = false>
struct OrderReader {
  using T = typename L::Number;
  static constexpr int kCount = kTermsOf<T>;
  TableOrder<T> order;
  Read<L> table;

  KW_FN static OrderReader of(Read<L> table, int order) {
    return {TableOrder<T>::of([&](int k) { return table[k].v; }, table.width, order), table};
  }

  KW_FN L operator()(L x) const {
    using O = TableOrder<T>;
    const L s = lesser(greater(x, L::of(order.least)), L::of(order.most));
    const typename O::Bits bits = bits_of(s.v);
    const L t = L::of(of_bits((bits & O::kLow) | O::kOne)) - L(O::kMiddle);
    const int row = x.v < T(O::kSmallest) ? 0 : static_cast<int>((bits >> O::kShift) - order.before);
    L value = piece(static_cast<int>(order.first) + row * kCount, t);
    if (order.pole > 0) value = without_pole(value, x, order.pole);
    return select(is_nan(x), x, value);
  }

 private:
  KW_FN L piece(int at, L t) const {
    L c[kCount];
    terms(at, c);
    L value = c[kCount - 1];
    for (int k = kCount - 2; k >= 0; --k) value = value * t + c[k];
    return value;
  }
  KW_FN void terms(int at, L* c) const {
#ifdef __CUDA_ARCH__
    if constexpr (kAligned) vectors_of_terms(at, c);
    else
#endif
      for (int k = 0; k < kCount; ++k) c[k] = table[at + k];
  }
#ifdef __CUDA_ARCH__
  // Loads whole vectors: from arrays the compiler loads one number at a time, in four times the time.
  __device__ void vectors_of_terms(int at, L* c) const {
    if constexpr (sizeof(T) == 4) {
      const float4 row = *reinterpret_cast<const float4*>(table.at + at);
      c[0] = L::of(row.x);
      c[1] = L::of(row.y);
      c[2] = L::of(row.z);
      c[3] = L::of(row.w);
    } else {
      const double2* const row = reinterpret_cast<const double2*>(table.at + at);
#pragma unroll
      for (int k = 0; k < kCount / 2; ++k) {
        const double2 two = row[k];
        c[2 * k] = L::of(two.x);
        c[2 * k + 1] = L::of(two.y);
      }
    }
  }
#endif
};

}  // namespace radial

namespace op {

struct RadialTable {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Read<L> table, Out out, int, const int* attributes) {
    out[0] = radial::OrderReader<L>::of(table, attributes[0])(x[0]);
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
