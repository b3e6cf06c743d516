// A column's numbers as codes that count up, read where they lie.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>

#include "arrays/keys.hpp"

namespace kernweave::arrays {

template <KeyType type>
struct Reader;

template <>
struct Reader<KeyType::int32> {
  const std::int32_t* data;
  bool missing(std::int64_t row) const { return data[row] == std::numeric_limits<std::int32_t>::min(); }
  bool nan(std::int64_t) const { return false; }
  std::uint64_t up(std::int64_t row) const { return static_cast<std::uint32_t>(data[row]) ^ 0x80000000u; }
};

template <>
struct Reader<KeyType::int64> {
  const std::int64_t* data;
  bool missing(std::int64_t row) const { return data[row] == std::numeric_limits<std::int64_t>::min(); }
  bool nan(std::int64_t) const { return false; }
  std::uint64_t up(std::int64_t row) const { return static_cast<std::uint64_t>(data[row]) ^ (std::uint64_t{1} << 63); }
};

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
    case KeyType::int32: return work(Reader<KeyType::int32>{static_cast<const std::int32_t*>(column.data)});
    case KeyType::int64: return work(Reader<KeyType::int64>{static_cast<const std::int64_t*>(column.data)});
    case KeyType::float64: break;
  }
  return work(Reader<KeyType::float64>{static_cast<const double*>(column.data)});
}

inline std::uint64_t flip_of(const KeyColumn& column) { return column.decreasing ? ~std::uint64_t{0} : 0; }

// work(code, data), where code(row) is the code of a row.
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

}  // namespace kernweave::arrays
