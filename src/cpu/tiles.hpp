// Runs the programs of a pass over tiles: one worker's memory, and the work on one block of rows.
#pragma once
#include <array>
#include <functional>
#include <vector>
#include "cpu/compile.hpp"
#include "cpu/rows.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// What all workers of a pass share.
struct PassJob {
  const Pass* pass;
  const Variant* variant;
  const TileKernel* kernel;
  const RowShape* shape;
  const Task* task;
  std::vector<std::vector<double>> centres;  // by the number of the packed variable they were taken from
  std::int64_t lanes, sweep;                 // extents of the two axes

  Point point(std::int64_t lane, std::int64_t column) const {
    return pass->lanes_along_i ? Point{lane, column} : Point{column, lane};
  }
  Axis lane_axis() const { return pass->lanes_along_i ? Axis::i : Axis::j; }
  Axis sweep_axis() const { return pass->lanes_along_i ? Axis::j : Axis::i; }
};

// The centres of those variables of which only differences count, in order of the packed variables.
std::vector<std::vector<double>> centres_of(const Pass& pass, const std::vector<View>& data);

template <class T>
class TileWorker {
 public:
  explicit TileWorker(const PassJob& job);

  // Folds the columns from `first_column` up to `end_column` into states of the rows from `first_row` on.
  void block(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t end_column, RowStates* states,
             const std::function<void()>& beat);

 private:
  const double* centre(const Packed& p) const {
    return p.centre >= 0 && !job_.centres.empty() ? job_.centres[p.centre].data() : nullptr;
  }
  T* space(Space s) { return spaces_[static_cast<int>(s)]; }
  void pack_space(Space s, Axis axis, Point first, std::int64_t count, std::int64_t padded);
  void run_along(const std::vector<Instruction>& program, Space s, std::int64_t padded);
  void pack_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  void run_strip(std::int64_t strip, std::int64_t row, std::int64_t column, std::int64_t columns);
  void init_states(std::int64_t strips);
  void flush(RowStates* states, std::int64_t rows, bool adding);
  void write_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns);
  char* lane_states(std::int64_t strip) { return states_ + strip * job_.pass->lane_state_bytes; }

  const PassJob& job_;
  const Pass& pass_;
  const bool pairs_loop_;
  std::vector<char> memory_;
  std::array<T*, kSpaces> spaces_{};
  char* states_ = nullptr;
  char* storage_ = nullptr;
  char* scratch_ = nullptr;
  char* room_ = nullptr;
};

}  // namespace kernweave
