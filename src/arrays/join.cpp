// Pairs rows of two tables with equal keys: in the order of both tables together, rows with one key lie side by side.
// The partners of a row of x are a stretch of this order, so pairs are written row by row.
#include <cmath>
#include <cstring>

#include "arrays/host_verbs.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

// `Row` is a type that holds any row's number.
template <class Row>
class Joined {
 public:
  // The first rows of the keys are the rows of x.
  Joined(const Keys& keys, const JoinOf& task, Index x_rows, const Workers& workers)
      : keys_(keys), task_(task), workers_(workers), x_rows_(x_rows), y_rows_(keys.rows() - x_rows),
        order_(keys.rows()), partners_(x_rows), y_alone_(y_rows_) {
    const Buffer<std::uint8_t> tied(keys.rows());
    radix_order(keys, {{}, 0, workers}, order_.get(), tied.get());
    note_runs(tied.get());
    x_before_ = piece_totals(PairsOf{partners_.get(), task.keep_x}, x_rows_, workers);
    y_before_ = task.keep_y ? piece_totals(y_alone_.get(), y_rows_, workers) : std::vector<Index>{0};
  }

  Index pairs() const { return x_before_.back() + y_before_.back(); }

  // Writes row numbers from 1, by x and then y; rows of y alone come last.
  template <class Number>
  void write(Number* x, Number* y, Number none) const {
    each_piece(workers_, x_rows_, [&](Index piece, Index first, Index last) {
      Index at = x_before_[piece];
      for (Index row = first; row < last; ++row) {
        const Partners& partners = partners_[row];
        const Row* const from = &order_[partners.first];
        for (Index k = 0; k < partners.count; ++k, ++at) {
          x[at] = static_cast<Number>(row + 1);
          y[at] = static_cast<Number>(from[k]);
        }
        if (partners.count > 0 || !task_.keep_x) continue;
        x[at] = static_cast<Number>(row + 1);
        y[at++] = none;
      }
    });
    if (!task_.keep_y) return;
    each_piece(workers_, y_rows_, [&](Index piece, Index first, Index last) {
      Index at = x_before_.back() + y_before_[piece];
      for (Index row = first; row < last; ++row) {
        if (!y_alone_[row]) continue;
        x[at] = none;
        y[at++] = static_cast<Number>(row + 1);
      }
    });
  }

 private:
  // The partners of a row of x: their first place in the order, and their count.
  struct Partners {
    Row first, count;
  };
  struct PairsOf {
    const Partners* partners;
    bool keep;
    Index operator[](Index row) const { return std::max<Index>(partners[row].count, keep); }
  };

  // A piece takes the runs that begin in it.
  void note_runs(const std::uint8_t* tied) {
    each_piece(workers_, keys_.rows(), [&](Index, Index from, Index last) {
      while (from < last && tied[from]) ++from;
      while (from < last) {
        Index to = from + 1;
        while (to < keys_.rows() && tied[to]) ++to;
        note_run(from, to);
        from = to;
      }
    });
  }

  // The order is stable: within a key, rows of x come before rows of y, each in their order.
  void note_run(Index from, Index to) {
    const std::vector<KeyColumn>& columns = keys_.columns();
    const Index row = static_cast<Index>(order_[from]) - 1;
    const auto missing = [row](const KeyColumn& c) { return is_missing(c, row); };
    const bool matches = task_.missing_match || std::none_of(columns.begin(), columns.end(), missing);
    Index middle = from;
    while (middle < to && order_[middle] <= x_rows_) ++middle;
    const Partners own{static_cast<Row>(middle), static_cast<Row>(matches ? to - middle : 0)};
    const std::uint8_t alone = middle == from || !matches;
    for (Index k = from; k < middle; ++k) partners_[static_cast<Index>(order_[k]) - 1] = own;
    for (Index k = middle; k < to; ++k) {
      order_[k] -= static_cast<Row>(x_rows_);
      y_alone_[static_cast<Index>(order_[k]) - 1] = alone;
    }
  }

  const Keys& keys_;
  const JoinOf& task_;
  const Workers& workers_;
  const Index x_rows_, y_rows_;
  Buffer<Row> order_;
  Buffer<Partners> partners_;
  Buffer<std::uint8_t> y_alone_;
  std::vector<Index> x_before_, y_before_;  // pairs before each piece of rows
};

// Returns the keys of x, followed by the keys of y.
Buffer<char> one_behind_other(const Column& x, const Column& y, Column* both) {
  return with_items(x, [&](auto* items) {
    const std::size_t bytes = sizeof *items;
    Buffer<char> numbers((x.count + y.count) * static_cast<Index>(bytes));
    std::memcpy(numbers.get(), items, static_cast<std::size_t>(x.count) * bytes);
    with_items(y, [&](auto* others) {
      std::memcpy(&numbers[x.count * static_cast<Index>(bytes)], others, static_cast<std::size_t>(y.count) * bytes);
    });
    const void* const at = numbers.get();
    if (x.longs) both->longs = static_cast<const std::int64_t*>(at);
    else if (x.integers) both->integers = static_cast<const int*>(at);
    else both->doubles = static_cast<const double*>(at);
    return numbers;
  });
}

template <class Number, class Row>
void write_pairs(const Joined<Row>& joined, const JoinOf& task, Index rows, Results& made) {
  const double needed_mb = std::ceil(static_cast<double>(joined.pairs()) * 2 * sizeof(Number) / 1048576);
  user_check(needed_mb <= task.most_mb, Fault::memory, "there are ", joined.pairs(),
             " pairs of rows, which would take ", needed_mb, " MB; the limit is ", task.most_mb,
             " MB. options(kernweave.max_dense_mb = ) raises it");
  const Numbers x = made.numbers("x", rows, joined.pairs());
  const Numbers y = made.numbers("y", rows, joined.pairs());
  if constexpr (std::is_same_v<Number, int>) joined.write(x.integers, y.integers, y.missing);
  else joined.write(x.doubles, y.doubles, y.not_available);
}

}  // namespace

void HostVerbs::join(const JoinOf& task, Results& made) const {
  std::vector<Buffer<char>> held;
  std::vector<KeyColumn> columns;
  for (std::size_t c = 0; c < task.x.size(); ++c) {
    Column both;
    held.push_back(one_behind_other(task.x[c], task.y[c], &both));
    columns.push_back(key_of(both, false, true));
  }
  const Index x_rows = task.x[0].count, rows = x_rows + task.y[0].count;
  const Keys keys(std::move(columns), rows, workers_);
  if (rows > kMostInt) write_pairs<double>(Joined<Index>(keys, task, x_rows, workers_), task, rows, made);
  else write_pairs<int>(Joined<std::int32_t>(keys, task, x_rows, workers_), task, rows, made);
}

}  // namespace kernweave::arrays
