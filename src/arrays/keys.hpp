// Columns as one string of bits for each row, whose order is the order of rows; cut into limbs that leave room for a
// row number in a word of 64 bits.
#pragma once
#include <cstdint>
#include <vector>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

enum class KeyType { int32, int64, float64 };

// A column as it lies. R's NA of integers is the least number, NaN is missing too; both come last.
struct KeyColumn {
  KeyType type = KeyType::int32;
  const void* data = nullptr;
  bool decreasing = false;
  // True if NaN is a key of its own, after NA. In an order NaN and NA are ties, in a join they are not.
  bool nan_apart = false;

  // The common properties of all numbers of the column, found by `study()`.
  bool missing = false;
  std::uint64_t least = 0;  // as bits that count up
  int shift = 0;            // low bits that are the same in all
  int bits = 0;             // of a code: the number less the least, shifted; missing ones above
  std::uint64_t absent = 0;  // code of NA
};

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

}  // namespace kernweave::arrays
