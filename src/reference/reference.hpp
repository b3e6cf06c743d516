// Runs the steps of a program for one pair, written for correctness alone.
#pragma once
#include <array>
#include <cstdint>
#include <vector>
#include "base/view.hpp"
#include "plan/plan.hpp"

namespace kernweave {

class Evaluator {
 public:
  Evaluator(const Plan& plan, const Program& program, const std::vector<View>& data);

  // Points the evaluator at a row or a column (counted from 0), then runs the steps of a region.
  void at_row(std::int64_t i) { i_ = i; }
  void at_column(std::int64_t j) { j_ = j; }
  void run(Region region);

  // Reads a value at the present pair.
  Read<Lane> read(const Ref& ref) const { return read(ref, 0); }

 private:
  Read<Lane> read(const Ref& ref, int component) const;
  Read<Lane> read_variable(const Ref& ref, int component) const;
  Lane* place(int slot);
  void run_step(const Step& step);
  void run_elementwise(const Step& step, int component);
  void run_fold(const Step& step);
  void run_group(const Group& group);
  void gather(const Step& step);

  const Plan& plan_;
  const Program& program_;
  const std::vector<View>& data_;
  std::array<std::vector<Lane>, kRegions> memory_;
  std::vector<Lane> numbers_;
  std::array<Lane, 2> counter_;        // the row number along i and along j
  mutable std::vector<Lane> entries_;  // entries of sparse matrices at the present pair
  std::int64_t i_ = 0;
  std::int64_t j_ = 0;
};

}  // namespace kernweave
