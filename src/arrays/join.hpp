// Pairs of rows of two tables whose keys are equal: the order of both together has the rows of a key side by side.
#pragma once
#include <cstdint>
#include <vector>

#include "arrays/buffer.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {

// The keys, whether rows without a partner are kept, and whether missing keys match.
struct JoinTask {
  Index x_rows = 0;  // the first of the keys; the others are those of y
  bool keep_x = false, keep_y = false, missing_match = true;
  Workers workers;
};

// `Row` holds any row's number.
template <class Row>
class Joined {
 public:
  Joined(const Keys& keys, const JoinTask& task);

  Index pairs() const { return x_before_.back() + y_before_.back(); }
  // Row numbers from 1, by x and then y; rows of y alone come last.
  template <class Number>
  void write(Number* x, Number* y, Number none) const;

 private:
  // The partners of a row of x: where they begin in the order, and how many there are.
  struct Partners {
    Row first, count;
  };

  void note_runs(const Keys& keys, const std::uint8_t* tied);
  void note_run(const Keys& keys, Index from, Index to);
  bool has_missing(const Keys& keys, Index row) const;

  const JoinTask task_;
  const Index x_rows_, y_rows_;
  Buffer<Row> order_;
  Buffer<Partners> partners_;
  Buffer<std::uint8_t> y_alone_;
  std::vector<Index> x_before_, y_before_;  // pairs before each piece of rows
};

}  // namespace kernweave::arrays
