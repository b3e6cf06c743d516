// Many numbers in one vector register: the wide lane of lane.hpp. Included once per instruction set.
#pragma once
#include "kernweave/lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The row numbers of the lanes: the first number, and the difference from lane to lane.
struct PackIndex {
  Index first;
  Index by_lane;

  KW_FN friend Index lane(PackIndex index, int k) { return index.first + k * index.by_lane; }
};

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = std::int32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::int64_t;
};

// Tells whether any bit is set: whole vectors have no operator for this.
template <class Vector>
KW_FN bool any_bit(Vector bits) {
#if defined(__x86_64__)
  if constexpr (sizeof(Vector) == 64) return _mm512_test_epi64_mask((__m512i)bits, (__m512i)bits) != 0;
  if constexpr (sizeof(Vector) == 32) return !_mm256_testz_si256((__m256i)bits, (__m256i)bits);
  if constexpr (sizeof(Vector) == 16) return _mm_movemask_epi8((__m128i)bits) != 0;
#else
  bool found = false;
  for (int k = 0; k < static_cast<int>(sizeof(Vector) / sizeof(bits[0])); ++k) found |= bits[k] != 0;
  return found;
#endif
}

// Returns the sign bit of every element; the bit of the first element is the lowest.
template <class Vector>
KW_FN unsigned sign_bits(Vector bits) {
#if defined(__x86_64__)
  constexpr bool four_bytes = sizeof(bits[0]) == 4;
  if constexpr (sizeof(Vector) == 64 && four_bytes) return _mm512_movepi32_mask((__m512i)bits);
  if constexpr (sizeof(Vector) == 64 && !four_bytes) return _mm512_movepi64_mask((__m512i)bits);
  if constexpr (sizeof(Vector) == 32 && four_bytes) return static_cast<unsigned>(_mm256_movemask_ps((__m256)bits));
  if constexpr (sizeof(Vector) == 32 && !four_bytes) return static_cast<unsigned>(_mm256_movemask_pd((__m256d)bits));
  if constexpr (sizeof(Vector) == 16 && four_bytes) return static_cast<unsigned>(_mm_movemask_ps((__m128)bits));
  if constexpr (sizeof(Vector) == 16 && !four_bytes) return static_cast<unsigned>(_mm_movemask_pd((__m128d)bits));
#else
  unsigned signs = 0;
  for (int k = 0; k < static_cast<int>(sizeof(Vector) / sizeof(bits[0])); ++k)
    signs |= static_cast<unsigned>(bits[k] < 0) << k;
  return signs;
#endif
}

// A truth value for every lane: all bits or none.
template <class T>
struct PackMask {
  using Bits = typename BitsOf<T>::Type;
  typedef Bits Vector __attribute__((vector_size(kVectorBytes)));
  Vector v;

  KW_FN friend PackMask operator&&(PackMask a, PackMask b) { return {a.v & b.v}; }
  KW_FN friend PackMask operator||(PackMask a, PackMask b) { return {a.v | b.v}; }
  KW_FN friend PackMask operator!(PackMask a) { return {~a.v}; }
  KW_FN friend bool lane(PackMask a, int k) { return a.v[k] != 0; }
  KW_FN friend bool any(PackMask a) { return any_bit(a.v); }
  KW_FN friend bool all(PackMask a) { return sign_bits(a.v) == (1u << (kVectorBytes / sizeof(T))) - 1; }
  KW_FN friend unsigned bits_of(PackMask a) { return sign_bits(a.v); }
  template <class F>
  KW_FN friend void each_lane(PackMask a, F f) {
    for (unsigned left = sign_bits(a.v); left != 0; left &= left - 1) f(__builtin_ctz(left));
  }
};

// A row number in every lane, in several vectors, each of as many lanes as it has room for.
template <class T>
struct PackPlaces {
  static constexpr int kPieces = sizeof(Index) / sizeof(T), kOfPiece = kVectorBytes / static_cast<int>(sizeof(Index));
  using Bits = typename BitsOf<T>::Type;
  typedef Bits Narrow __attribute__((vector_size(kVectorBytes)));
  typedef Bits Part __attribute__((vector_size(kVectorBytes / kPieces), may_alias));
  typedef Index Piece __attribute__((vector_size(kVectorBytes)));
  Piece v[kPieces];

  // Copies vector by vector: a copy of the whole would go through memory.
  PackPlaces() = default;
  KW_FN PackPlaces(const PackPlaces& other) { *this = other; }
  KW_FN PackPlaces& operator=(const PackPlaces& other) {
    for (int p = 0; p < kPieces; ++p) v[p] = other.v[p];
    return *this;
  }

  KW_FN static Piece wide(const Narrow& numbers, int p) {
    return __builtin_convertvector(reinterpret_cast<const Part*>(&numbers)[p], Piece);
  }
  // Computes the places first + lane * by_lane + column * by_column, each lane with its own column.
  KW_FN static PackPlaces of(PackIndex first, Narrow column, Index by_column) {
    PackPlaces places;
    for (int p = 0; p < kPieces; ++p) {
      Piece row;
      for (int k = 0; k < kOfPiece; ++k) row[k] = p * kOfPiece + k;
      places.v[p] = wide(column, p) * by_column + (row * first.by_lane + first.first);
    }
    return places;
  }
  KW_FN friend PackPlaces select(PackMask<T> test, PackPlaces yes, PackPlaces no) {
    for (int p = 0; p < kPieces; ++p) yes.v[p] = wide(test.v, p) < 0 ? yes.v[p] : no.v[p];
    return yes;
  }
  KW_FN friend Index lane(const PackPlaces& a, int k) { return a.v[k / kOfPiece][k % kOfPiece]; }
  KW_FN friend void set_lane(PackPlaces* a, int k, Index number) { a->v[k / kOfPiece][k % kOfPiece] = number; }
};

// The compiler's vector types give arithmetic, comparison and choice for every instruction set alike; it
// joins a product and a sum into one rounding where the instruction set can.
template <class T>
struct Pack {
  using Number = T;
  using Mask = PackMask<T>;
  using Indices = PackIndex;
  using Place = Index;
  using Places = PackPlaces<T>;
  using OfPlaces = Pack<double>;  // as wide as the row numbers
  using Bits = typename BitsOf<T>::Type;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef Bits BitVector __attribute__((vector_size(kVectorBytes)));
  // The vector in memory, at any address that a number may have.
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
  Vector v;

  Pack() = default;
  KW_FN Pack(double literal) : v(static_cast<T>(literal) - Vector{}) {}
  KW_FN static Pack of(Vector value) {
    Pack p;
    p.v = value;
    return p;
  }
  KW_FN static Pack all(T number) { return of(number - Vector{}); }
  KW_FN static Pack load(const T* at) { return of(*reinterpret_cast<const Loose*>(at)); }
  KW_FN void store(T* at) const { *reinterpret_cast<Loose*>(at) = v; }

  KW_FN friend Pack operator+(Pack a, Pack b) { return of(a.v + b.v); }
  KW_FN friend Pack operator-(Pack a, Pack b) { return of(a.v - b.v); }
  KW_FN friend Pack operator*(Pack a, Pack b) { return of(a.v * b.v); }
  KW_FN friend Pack operator/(Pack a, Pack b) { return of(a.v / b.v); }
  KW_FN friend Pack operator-(Pack a) { return of(-a.v); }

  KW_FN friend Mask operator<(Pack a, Pack b) { return {a.v < b.v}; }
  KW_FN friend Mask operator<=(Pack a, Pack b) { return {a.v <= b.v}; }
  KW_FN friend Mask operator==(Pack a, Pack b) { return {a.v == b.v}; }
  KW_FN friend Mask differs(Pack a, Pack b) { return {(a.v < b.v) | (a.v > b.v)}; }

  KW_FN friend Mask truth(Pack a) { return {a.v != Vector{}}; }
  KW_FN friend Mask is_nan(Pack a) { return {a.v != a.v}; }
  KW_FN friend Pack select(Mask test, Pack yes, Pack no) { return of(test.v ? yes.v : no.v); }
  KW_FN friend Pack square(Pack a) { return a * a; }

  KW_FN friend T lane(Pack a, int k) { return a.v[k]; }
  KW_FN friend Pack with_lane(Pack a, int k, T number) {
    a.v[k] = number;
    return a;
  }
  // Sets a lane in memory: a store of one number, for which no later store has to wait.
  KW_FN friend void set_lane(Pack* a, int k, T number) { a->v[k] = number; }

  // The bits of the numbers, for exponents and signs.
  KW_FN friend BitVector bits(Pack a) { return reinterpret_cast<BitVector>(a.v); }
  KW_FN static Pack of_bits(BitVector bits) { return of(reinterpret_cast<Vector>(bits)); }
};

// Returns the lesser; b if one is NaN. g++ sees no minimum in a comparison and a choice, so the code names the
// instruction. AVX-512 functions are the masked ones with a full mask: g++ 12 warns of the plain ones.
template <class T>
KW_FN Pack<T> lesser(Pack<T> a, Pack<T> b) {
#if defined(__x86_64__)
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) return Pack<T>::of(_mm512_maskz_min_ps(-1, a.v, b.v));
  if constexpr (kVectorBytes == 64 && !is_float) return Pack<T>::of(_mm512_maskz_min_pd(-1, a.v, b.v));
  if constexpr (kVectorBytes == 32 && is_float) return Pack<T>::of(_mm256_min_ps(a.v, b.v));
  if constexpr (kVectorBytes == 32 && !is_float) return Pack<T>::of(_mm256_min_pd(a.v, b.v));
  if constexpr (kVectorBytes == 16 && is_float) return Pack<T>::of(_mm_min_ps(a.v, b.v));
  if constexpr (kVectorBytes == 16 && !is_float) return Pack<T>::of(_mm_min_pd(a.v, b.v));
#else
  return select(a < b, a, b);
#endif
}
template <class T>
KW_FN Pack<T> greater(Pack<T> a, Pack<T> b) {
#if defined(__x86_64__)
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) return Pack<T>::of(_mm512_maskz_max_ps(-1, a.v, b.v));
  if constexpr (kVectorBytes == 64 && !is_float) return Pack<T>::of(_mm512_maskz_max_pd(-1, a.v, b.v));
  if constexpr (kVectorBytes == 32 && is_float) return Pack<T>::of(_mm256_max_ps(a.v, b.v));
  if constexpr (kVectorBytes == 32 && !is_float) return Pack<T>::of(_mm256_max_pd(a.v, b.v));
  if constexpr (kVectorBytes == 16 && is_float) return Pack<T>::of(_mm_max_ps(a.v, b.v));
  if constexpr (kVectorBytes == 16 && !is_float) return Pack<T>::of(_mm_max_pd(a.v, b.v));
#else
  return select(b < a, a, b);
#endif
}

}  // inline namespace KW_ISA
}  // namespace kernweave
