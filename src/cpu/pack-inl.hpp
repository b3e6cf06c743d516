// Many numbers in one vector register: the wide lane of lane.hpp. Included once per instruction set.
#pragma once
#include "kernweave/lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Row numbers of the lanes: the first, and how they grow from lane to lane.
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

// Is any bit set? What comparing whole vectors has no operator for.
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
};

// The compiler's vector types give arithmetic, comparison and choice for every instruction set alike; it
// joins a product and a sum into one rounding where the instruction set can.
template <class T>
struct Pack {
  using Number = T;
  using Mask = PackMask<T>;
  using Indices = PackIndex;
  using Bits = typename BitsOf<T>::Type;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef Bits BitVector __attribute__((vector_size(kVectorBytes)));
  // As it lies in memory: at any address a number may have.
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

  // The bits of the numbers, for exponents and signs.
  KW_FN friend BitVector bits(Pack a) { return reinterpret_cast<BitVector>(a.v); }
  KW_FN static Pack of_bits(BitVector bits) { return of(reinterpret_cast<Vector>(bits)); }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
