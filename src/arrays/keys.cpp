// Columns as strings of bits: finds the bits that all numbers have in common, and leaves them out.
#include "arrays/keys.hpp"

#include <algorithm>

namespace kernweave::arrays {
namespace {

void ask_for(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

int zeros_below(std::uint64_t number) {
  if (number == 0) return 0;
  int zeros = 0;
  for (; !(number & 1); number >>= 1) ++zeros;
  return zeros;
}

// The extent of some rows: extremes of the numbers, and the bits in which numbers differ from the first number.
struct Extent {
  bool any = false, missing = false, nan = false;
  std::uint64_t first = 0, least = ~std::uint64_t{0}, greatest = 0, differ = 0;

  void include(const Extent& other) {
    missing |= other.missing;
    nan |= other.nan;
    if (!other.any) return;
    if (!any) first = other.first;
    any = true;
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
    differ |= other.differ | (other.first ^ first);
  }
};

template <class Read>
Extent extent(const Read& read, std::uint64_t flip, std::int64_t from, std::int64_t to) {
  Extent found;
  for (std::int64_t row = from; row < to; ++row) {
    if (read.missing(row)) {
      found.missing = true;
      found.nan |= read.nan(row);
      continue;
    }
    const std::uint64_t number = read.up(row) ^ flip;
    if (!found.any) found.first = number;
    found.any = true;
    found.least = std::min(found.least, number);
    found.greatest = std::max(found.greatest, number);
    found.differ |= number ^ found.first;
  }
  return found;
}

// Integers have few bits, so their equal low bits are not searched for.
Extent extent(const Reader<KeyType::int32>& read, std::uint64_t flip, std::int64_t from, std::int64_t to) {
  constexpr std::uint32_t kSign = 0x80000000u;
  std::uint32_t least = ~std::uint32_t{0}, greatest = 0, least_of_all = ~std::uint32_t{0};
  for (std::int64_t row = from; row < to; ++row) {
    const std::uint32_t number = static_cast<std::uint32_t>(read.data[row]) ^ kSign;  // NA is 0
    least = std::min(least, number - 1);
    least_of_all = std::min(least_of_all, number);
    greatest = std::max(greatest, number);
  }
  Extent found;
  found.any = greatest > 0;
  found.missing = least_of_all == 0;
  const std::uint64_t low = (std::uint64_t{least} + 1) ^ flip, high = std::uint64_t{greatest} ^ flip;
  found.first = found.least = std::min(low, high);
  found.greatest = std::max(low, high);
  found.differ = ~std::uint64_t{0};
  return found;
}

void settle(const Extent& all, KeyColumn* column) {
  column->missing = all.missing;
  column->least = all.any ? all.least : 0;
  column->shift = zeros_below(all.differ);
  const std::uint64_t span = all.any ? (all.greatest - all.least) >> column->shift : 0;
  const bool above = all.any && all.missing, two = all.missing && all.nan && column->nan_apart;
  column->absent = above ? span + 1 : 0;
  column->bits = length_in_bits(span + above + two);
}

}  // namespace

int length_in_bits(std::uint64_t number) {
  int bits = 0;
  for (; number; number >>= 1) ++bits;
  return bits;
}

bool is_missing(const KeyColumn& column, std::int64_t row) {
  return column.missing && with_reader(column, [row](const auto& read) { return read.missing(row); });
}

Keys::Keys(std::vector<KeyColumn> columns, std::int64_t rows, const Workers& workers)
    : columns_(std::move(columns)), rows_(rows) {
  for (KeyColumn& column : columns_) study(&column, workers);
  cut_into_levels();
}

Keys::Keys(const Keys& whole, std::int64_t from, std::int64_t to)
    : columns_(whole.columns_), first_(from), rows_(to - from) {
  for (KeyColumn& column : columns_) {
    const std::uint64_t flip = flip_of(column);
    settle(with_reader(column, [&](const auto& read) { return extent(read, flip, from, to); }), &column);
  }
  cut_into_levels();
}

void Keys::study(KeyColumn* column, const Workers& workers) const {
  std::vector<Extent> found(static_cast<std::size_t>(pieces_of(rows_)));
  const std::uint64_t flip = flip_of(*column);
  each_piece(workers, rows_, [&](Index piece, Index from, Index to) {
    found[piece] = with_reader(*column, [&](const auto& read) { return extent(read, flip, from, to); });
  });
  Extent all;
  for (const Extent& part : found) all.include(part);
  settle(all, column);
}

// Row numbers take the low bits of a word; the bits of the columns fill the limbs that they need.
void Keys::cut_into_levels() {
  index_bits_ = std::max(1, length_in_bits(static_cast<std::uint64_t>(std::max<std::int64_t>(rows_ - 1, 0))));
  const int room = 64 - index_bits_;
  levels_.assign(1, Level());
  for (int c = 0; c < static_cast<int>(columns_.size()); ++c)
    for (int left = columns_[c].bits; left > 0;) {
      if (levels_.back().bits == room) levels_.emplace_back();
      Level& level = levels_.back();
      const int bits = std::min(left, room - level.bits);
      left -= bits;
      level.parts.push_back({c, left, bits});
      level.bits += bits;
    }
}

void Keys::fill(int level, std::int64_t first, std::int64_t count, std::uint64_t* words) const {
  limbs<false>(level, count, words, [first](std::int64_t k) { return static_cast<std::uint64_t>(first + k); });
}

void Keys::refill(int level, std::int64_t count, std::uint64_t* words) const {
  limbs<true>(level, count, words, [words, rows = index_mask()](std::int64_t k) { return words[k] & rows; });
}

// If rows lie `far` apart, they are prefetched: their pages are found while others are read.
template <bool far, class Row>
void Keys::limbs(int level, std::int64_t count, std::uint64_t* words, Row row_at) const {
  constexpr std::int64_t kAhead = 24;
  const int up = index_bits_;
  const std::int64_t first = first_;
  const std::vector<Part>& parts = levels_[level].parts;
  for (std::int64_t k = 0; parts.empty() && k < count; ++k) words[k] = row_at(k);
  for (const Part& part : parts) {
    const std::uint64_t mask = (std::uint64_t{1} << part.bits) - 1;
    const int low = part.low, bits = part.bits;
    const bool begun = &part != &parts.front();
    with_codes(columns_[part.column], [=](const auto& code, const auto* data) {
      const auto each = [&](auto before) {
        for (std::int64_t k = 0; k < count; ++k) {
          if (far && k + kAhead < count) ask_for(data + first + static_cast<std::int64_t>(row_at(k + kAhead)));
          const std::uint64_t row = row_at(k), digits = code(first + static_cast<std::int64_t>(row)) >> low & mask;
          words[k] = (before(words[k]) | digits) << up | row;
        }
      };
      if (begun) each([=](std::uint64_t word) { return word >> up << bits; });
      else each([](std::uint64_t) { return std::uint64_t{0}; });
    });
  }
}

}  // namespace kernweave::arrays
