// Polynomial pieces of a table for vectors of numbers: every lane has a row of its own, which is loaded whole and
// transposed, in a third of the time of gathers.
#pragma once
#include "kernweave/op/radial_table.hpp"
#include "lanes/pack-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The places of rows, one a lane, as words of 64 bits, each with two places of float. Vectors of 64 bytes go through
// memory, since the compiler takes numbers out of them one by one; with 32 bytes, one by one takes 0.7 of the time.
template <class T>
class RowPlaces {
  using Words [[gnu::vector_size(kVectorBytes)]] = long long;

 public:
  KW_FN explicit RowPlaces(typename Pack<T>::BitVector places) {
    const Words words = reinterpret_cast<Words>(places);
    if constexpr (kVectorBytes == 64) {
      *reinterpret_cast<Words*>(word_) = words;
      __asm__ volatile("" : "+m"(word_));
    } else {
      for (int k = 0; k < kVectorBytes / 8; ++k) word_[k] = words[k];
    }
  }
  KW_FN long long operator[](int lane) const {
    if constexpr (sizeof(T) == 8) return word_[lane];
    const long long both = word_[lane / 2];
    return lane % 2 ? both >> 32 : both & 0xffffffff;
  }

 private:
  alignas(kVectorBytes) long long word_[kVectorBytes / 8];
};

// Loads numbers k and k + 1 of the rows that begin at `at`, one row a lane.
template <class T>
struct RowPairs {
  using P = Pack<T>;
  static constexpr int W = P::kLanes;
  const T* rows;
  const RowPlaces<T>& at;

  KW_FN const T* of(int lane, int k) const { return rows + at[lane] + k; }
  KW_FN void load(int k, P* first, P* second) const {
#if defined(__x86_64__)
    if constexpr (sizeof(T) == 8 && kVectorBytes == 64) {
      const auto four = [&](int l) {
        __m512d a = _mm512_castpd128_pd512(_mm_loadu_pd(of(l, k)));
        a = _mm512_mask_broadcast_f64x2(a, 0x0C, _mm_loadu_pd(of(l + 2, k)));
        a = _mm512_mask_broadcast_f64x2(a, 0x30, _mm_loadu_pd(of(l + 4, k)));
        return _mm512_mask_broadcast_f64x2(a, 0xC0, _mm_loadu_pd(of(l + 6, k)));
      };
      const __m512d even = four(0), odd = four(1);
      *first = P::of(_mm512_maskz_unpacklo_pd(-1, even, odd));
      *second = P::of(_mm512_maskz_unpackhi_pd(-1, even, odd));
      return;
    }
    if constexpr (sizeof(T) == 8 && kVectorBytes == 32) {
      const auto two = [&](int l) {
        return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(of(l, k))), _mm_loadu_pd(of(l + 2, k)), 1);
      };
      const __m256d even = two(0), odd = two(1);
      *first = P::of(_mm256_unpacklo_pd(even, odd));
      *second = P::of(_mm256_unpackhi_pd(even, odd));
      return;
    }
#endif
    for (int l = 0; l < W; ++l) {
      first->v[l] = *of(l, k);
      second->v[l] = *of(l, k + 1);
    }
  }
};

#if defined(__x86_64__)
// Loads the four numbers of each row in float, by a 4 x 4 transposition in every quarter of the vector.
template <class P>
KW_FN void load_four(const float* rows, const RowPlaces<float>& at, P* out) {
  constexpr int kQuarters = P::kLanes / 4;
  const auto row = [&](int l) { return _mm_loadu_ps(rows + at[l]); };
  if constexpr (kQuarters == 4) {
    const auto four = [&](int l) {
      __m512 a = _mm512_castps128_ps512(row(l));
      a = _mm512_mask_broadcast_f32x4(a, 0x00F0, row(l + 4));
      a = _mm512_mask_broadcast_f32x4(a, 0x0F00, row(l + 8));
      return _mm512_mask_broadcast_f32x4(a, 0xF000, row(l + 12));
    };
    const __m512 a = four(0), b = four(1), c = four(2), d = four(3);
    const __m512d x = _mm512_castps_pd(_mm512_maskz_unpacklo_ps(-1, a, b)),
                  y = _mm512_castps_pd(_mm512_maskz_unpackhi_ps(-1, a, b)),
                  z = _mm512_castps_pd(_mm512_maskz_unpacklo_ps(-1, c, d)),
                  w = _mm512_castps_pd(_mm512_maskz_unpackhi_ps(-1, c, d));
    out[0] = P::of(_mm512_castpd_ps(_mm512_maskz_unpacklo_pd(-1, x, z)));
    out[1] = P::of(_mm512_castpd_ps(_mm512_maskz_unpackhi_pd(-1, x, z)));
    out[2] = P::of(_mm512_castpd_ps(_mm512_maskz_unpacklo_pd(-1, y, w)));
    out[3] = P::of(_mm512_castpd_ps(_mm512_maskz_unpackhi_pd(-1, y, w)));
  } else if constexpr (kQuarters == 2) {
    const auto two = [&](int l) { return _mm256_insertf128_ps(_mm256_castps128_ps256(row(l)), row(l + 4), 1); };
    const __m256 a = two(0), b = two(1), c = two(2), d = two(3);
    const __m256d x = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)), y = _mm256_castps_pd(_mm256_unpackhi_ps(a, b)),
                  z = _mm256_castps_pd(_mm256_unpacklo_ps(c, d)), w = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
    out[0] = P::of(_mm256_castpd_ps(_mm256_unpacklo_pd(x, z)));
    out[1] = P::of(_mm256_castpd_ps(_mm256_unpackhi_pd(x, z)));
    out[2] = P::of(_mm256_castpd_ps(_mm256_unpacklo_pd(y, w)));
    out[3] = P::of(_mm256_castpd_ps(_mm256_unpackhi_pd(y, w)));
  }
}
#endif

// Reads one order of a table, for any number of vectors.
template <class T>
class TableReader {
  using P = Pack<T>;
  using Order = radial::TableOrder<T>;
  using Bits = typename P::Bits;
  using BitVector = typename P::BitVector;
  typedef std::make_unsigned_t<Bits> Unsigned __attribute__((vector_size(kVectorBytes)));
  static constexpr int kCount = radial::kTermsOf<T>;
  static_assert(radial::kTermsOf<double> == 6 && radial::kTermsOf<float> == 4, "four or six terms are written out");

 public:
  KW_FN TableReader(const T* table, long long width, int order)
      : order_(Order::of([&](int k) { return table[k]; }, width, order)), rows_(table + order_.first) {}

  KW_FN P operator()(P x) const {
    // A NaN becomes a number here, and a NaN again at the end.
    const BitVector bits_of_x = bits(lesser(greater(x, P::all(order_.least)), P::all(order_.most)));
    const Unsigned row = reinterpret_cast<Unsigned>(bits_of_x) >> Order::kShift;
    const BitVector number = reinterpret_cast<BitVector>(row) - static_cast<Bits>(order_.before);
    const RowPlaces<T> at(kCount == 4 ? number << 2 : (number << 2) + (number << 1));
    const P t = P::of_bits((bits_of_x & static_cast<Bits>(Order::kLow)) | static_cast<Bits>(Order::kOne)) -
                P(Order::kMiddle);
    P term[kCount];
    coefficients(at, term);
    // Written out: the compiler would keep coefficients in memory for a loop.
    P value = term[3];
    if constexpr (kCount == 6) value = (term[5] * t + term[4]) * t + value;
    value = ((value * t + term[2]) * t + term[1]) * t + term[0];
    if constexpr (sizeof(T) == 4) value = select(x < P(Order::kSmallest), P::all(rows_[0]), value);
    return select(is_nan(x), x, value);
  }
  bool has_pole() const { return order_.pole > 0; }
  KW_FN P without_pole(P x) const { return radial::without_pole((*this)(x), x, order_.pole); }

 private:
  KW_FN void coefficients(const RowPlaces<T>& at, P* term) const {
#if defined(__x86_64__)
    if constexpr (sizeof(T) == 4 && kVectorBytes > 16) {
      load_four(rows_, at, term);
      return;
    }
#endif
    const RowPairs<T> pairs{rows_, at};
    pairs.load(0, &term[0], &term[1]);
    pairs.load(2, &term[2], &term[3]);
    if constexpr (kCount == 6) pairs.load(4, &term[4], &term[5]);
  }

  Order order_;
  const T* rows_;
};

}  // inline namespace KW_ISA
}  // namespace kernweave
