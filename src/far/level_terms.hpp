// The terms of a level: which products of polynomials its classes need, and each class as a matrix of them.
#pragma once
#include <vector>

#include "arrays/pieces.hpp"
#include "far/box_class.hpp"
#include "far/loops.hpp"

namespace kernweave {
namespace far {

// The matrix of a class, from terms of the source to terms of the target.
struct ClassMatrix {
  std::vector<int> first, columns;
  std::vector<double> numbers;
  // In a proof, sizes of all coefficients that are not in it: by terms of the source, and of sources that are no terms.
  std::vector<double> dropped;
  double of_no_term = 0;

  BlockRows rows() const {
    return {static_cast<int>(first.size()) - 1, first.data(), columns.data(), numbers.data()};
  }
};

// One set for all classes of a level, the same whatever the order of the axes.
template <int D>
class LevelTerms {
 public:
  // Of the classes that are used; coefficients of all are given back, and those of no term join the bound.
  LevelTerms(std::vector<BoxClass>* classes, const std::vector<bool>& used, const arrays::Workers& workers);

  bool any() const { return !set_.empty(); }
  Terms terms() const { return {degrees_, set_.data(), count(), ends_.data()}; }
  int count() const { return static_cast<int>(set_.size()); }
  int padded() const { return (count() + kRowsOfBlock - 1) / kRowsOfBlock * kRowsOfBlock; }
  const ClassMatrix& matrix(int box_class) const { return matrices_[static_cast<std::size_t>(box_class)]; }

  // How a box sees a class whose axes are turned: term k stands where `place[k]` does, times `sign[k]`.
  struct Turn {
    std::vector<int> place;
    std::vector<double> sign;
  };
  const Turn& turn(int number) const { return turns_[static_cast<std::size_t>(number)]; }

  double bytes() const;

 private:
  using Degrees = std::array<int, D>;

  int number_of(const Degrees& degrees) const;
  Degrees degrees_of(int number) const;
  void collect(const std::vector<BoxClass>& classes, const std::vector<bool>& used);
  void make_turns();
  ClassMatrix matrix_of(const PairSeries& series) const;

  int degrees_ = 0;
  std::vector<int> set_;    // numbers of terms, in order
  std::vector<int> ends_;   // of the last axis's degrees
  std::vector<int> place_;  // of each number, -1 where it is not needed
  std::vector<ClassMatrix> matrices_;
  std::vector<Turn> turns_;
};

}  // namespace far
}  // namespace kernweave
