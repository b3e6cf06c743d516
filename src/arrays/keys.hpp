// Keys: the columns of each row as one string of bits; strings are ordered as rows are. They are cut into limbs that
// leave room for a row number in a word of 64 bits. Also the codes of numbers, and the order of rows.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>
#include "arrays/items.hpp"

namespace kernweave::arrays {

enum class KeyType { int32, int64, float64 };

// A column in place. R's NA of integers is the least number, NaN is missing too; both come last.
struct KeyColumn {
  KeyType type = KeyType::int32;
  const void* data = nullptr;
  bool decreasing = false;
  // True if NaN is a key of its own, after NA. In an order NaN and NA are ties, in a join they are not.
  bool nan_apart = false;

  // The common properties of all numbers of the column, found by `study()`.
  bool missing = false;
  std::uint64_t least = 0;  // as bits in the order of the numbers
  int shift = 0;            // low bits that are the same in all numbers
  int bits = 0;             // bits of a code, (number - least) >> shift; missing numbers have larger codes
  std::uint64_t absent = 0;  // code of NA
};

KeyColumn key_of(const Column& column, bool decreasing, bool nan_apart = false);

int length_in_bits(std::uint64_t number);

bool is_missing(const KeyColumn& column, std::int64_t row);

// The bits of columns, first column first.
class Keys {
 public:
  Keys(std::vector<KeyColumn> columns, std::int64_t rows, const Workers& workers);
  // Makes keys of rows [from, to) alone: a stretch has fewer bits than the whole.
  Keys(const Keys& whole, std::int64_t from, std::int64_t to);

  std::int64_t rows() const { return rows_; }
  int index_bits() const { return index_bits_; }
  std::uint64_t index_mask() const { return (std::uint64_t{1} << index_bits_) - 1; }
  int levels() const { return static_cast<int>(levels_.size()); }
  int bits(int level) const { return levels_[level].bits; }
  const std::vector<KeyColumn>& columns() const { return columns_; }

  // words[k] = limb of row first + k, above the row's number.
  void fill(int level, std::int64_t first, std::int64_t count, std::uint64_t* words) const;
  // Fills `words` for the rows whose numbers stand in the words' low bits.
  void refill(int level, std::int64_t count, std::uint64_t* words) const;

 private:
  struct Part {
    int column;
    int low;   // bits of the code below the part
    int bits;
  };
  struct Level {
    std::vector<Part> parts;
    int bits = 0;
  };

  template <bool far, class Row>
  void limbs(int level, std::int64_t count, std::uint64_t* words, Row row_at) const;
  void study(KeyColumn* column, const Workers& workers) const;
  void cut_into_levels();

  std::vector<KeyColumn> columns_;
  std::vector<Level> levels_;
  std::int64_t first_ = 0, rows_ = 0;
  int index_bits_ = 1;
};

// --- codes ---------------------------------------------------------------------------------------------------------
// A column's numbers, read in place, as codes in the order of the numbers.

template <KeyType type>
struct Reader;

template <class Item>
struct IntegerReader {
  using Bits = std::make_unsigned_t<Item>;
  const Item* data;
  bool missing(std::int64_t row) const { return data[row] == std::numeric_limits<Item>::min(); }
  bool nan(std::int64_t) const { return false; }
  std::uint64_t up(std::int64_t row) const { return static_cast<Bits>(data[row]) ^ Bits{1} << (8 * sizeof(Bits) - 1); }
};
template <>
struct Reader<KeyType::int32> : IntegerReader<std::int32_t> {};
template <>
struct Reader<KeyType::int64> : IntegerReader<std::int64_t> {};

template <>
struct Reader<KeyType::float64> {
  const double* data;
  bool missing(std::int64_t row) const { return data[row] != data[row]; }
  // R's NA is the NaN whose low half is 1954.
  bool nan(std::int64_t row) const {
    std::uint64_t bits;
    std::memcpy(&bits, &data[row], sizeof bits);
    return static_cast<std::uint32_t>(bits) != 1954;
  }
  std::uint64_t up(std::int64_t row) const {
    const double number = data[row] + 0.0;  // -0 becomes 0
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits ^ (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) | (std::uint64_t{1} << 63));
  }
};

template <class Work>
auto with_reader(const KeyColumn& column, Work work) {
  switch (column.type) {
    case KeyType::int32: return work(Reader<KeyType::int32>{{static_cast<const std::int32_t*>(column.data)}});
    case KeyType::int64: return work(Reader<KeyType::int64>{{static_cast<const std::int64_t*>(column.data)}});
    case KeyType::float64: break;
  }
  return work(Reader<KeyType::float64>{static_cast<const double*>(column.data)});
}

inline std::uint64_t flip_of(const KeyColumn& column) { return column.decreasing ? ~std::uint64_t{0} : 0; }

// Calls work(code, data), where code(row) is the code of a row.
template <class Work>
void with_codes(const KeyColumn& column, Work work) {
  with_reader(column, [&](const auto& read) {
    const std::uint64_t flip = flip_of(column), least = column.least, absent = column.absent;
    const int shift = column.shift;
    const auto present = [=](std::int64_t row) { return ((read.up(row) ^ flip) - least) >> shift; };
    const bool apart = column.nan_apart;
    const auto any = [=](std::int64_t row) {
      return read.missing(row) ? absent + (apart && read.nan(row)) : present(row);
    };
    if (column.missing) work(any, read.data);
    else work(present, read.data);
  });
}

// --- radix_order.cpp -----------------------------------------------------------------------------------------------
// A stable order of rows by their keys: digits split long ranges, short ranges are sorted within the cache.

// The task of an order. `offsets` cuts the rows into segments, each ordered within itself; no offsets are one segment.
struct OrderTask {
  std::vector<std::int64_t> offsets;
  std::int64_t nearly = 0;  // the caller's promise: no row is farther from its place; 0: no promise
  Workers workers;
};

// order[k] is the number, from 1, of row k of the order; tied[k], if not null, tells whether its keys are equal to the
// keys of the row before. Only one order is right, so any number of threads finds the same.
template <class Number>
void radix_order(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied);

}  // namespace kernweave::arrays
