// The states of rows, in float64: tiles gather terms in them, and tasks hand them to each other.
#pragma once
#include <cstdint>
#include <vector>
#include "cpu/pass.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// The layout of a pass's row states.
struct RowShape {
  RowShape(const Pass& pass, const Variant& variant, const TileKernel& kernel);

  struct OutputState {
    const StateKernel* kernel;
    const Output* output;
    int number;  // of the output in the plan
    std::int64_t lane_state;
    std::int64_t storage;  // bytes of one state's own storage
    bool turned;           // do its values have the other sign?
  };
  std::vector<OutputState> parts;  // outputs kept pair by pair have none
};

// The states of some rows: for each part and each component, one row after the other.
class RowStates {
 public:
  // Makes `rows` rows without terms; memory of an earlier use is reused.
  void init(const RowShape& shape, std::int64_t rows);
  void* at(std::size_t part, int component, std::int64_t row);
  // Packs states as bytes, in which addresses count from the storage of their state; unpack() reverses this.
  void pack(std::vector<char>* to) const;
  const char* unpack(const char* from, const RowShape& shape);
  // Takes in states of later terms of the same rows.
  void merge(RowStates& later);
  // Takes in the rows of one block in order, if a part folds the rows too.
  void merge_rows(RowStates& later, std::int64_t count, std::size_t part);
  // Writes the rows of a part to its result from row `first` on; with an order, row k goes to row order[k].
  void finish(std::size_t part, std::int64_t count, std::int64_t first, std::int64_t rows_of_result,
              const Result& result, const std::int64_t* order);

 private:
  void shift_addresses(std::vector<std::int64_t>* memory, std::int64_t sign) const;

  const RowShape* shape_ = nullptr;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> first_;  // place of each part's states, then of their storage
  std::vector<std::int64_t> storage_;
  std::vector<std::int64_t> memory_;
  std::vector<double> values_;  // of rows that are being written
  std::vector<long long> indices_;
};

// The states of rows `first`, `first` + 1, ... of `states`.
struct StatesFrom {
  RowStates* states;
  std::int64_t first = 0;

  void* at(std::size_t part, int component, std::int64_t row) const { return states->at(part, component, first + row); }
};

// Folds of one term each, for outputs kept pair by pair.
class SingleFold {
 public:
  explicit SingleFold(const Output& output);
  // Tells whether the folds of terms without weights are the terms themselves.
  bool is_plain() const { return plain_; }
  // `at`: the place in the matrix of `pairs` places.
  void write(double value, double weight, std::int64_t at, std::int64_t pairs, int component, const Result& result);

 private:
  const StateRow& state_;
  int places_;
  bool plain_;
  std::vector<std::int64_t> memory_;
  std::vector<Lane> values_;
  std::vector<Index> indices_;
};

}  // namespace kernweave
