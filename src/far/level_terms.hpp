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
  // In a proof, the sizes of coefficients that are not in it, added up by terms of the source; and of sources that are
  // no terms of the level.
  std::vector<double> dropped;
  double of_no_term = 0;

  BlockRows rows() const {
    return {static_cast<int>(first.size()) - 1, first.data(), columns.data(), numbers.data()};
  }
};

// One set of terms for all classes of a level, the same for every order of the axes, so that turned boxes share it.
template <int D>
class LevelTerms {
 public:
  // Takes the series of the classes that are used, and frees those of all. Coefficients of no term join a class's
  // bound.
  LevelTerms(std::vector<BoxClass>* classes, const std::vector<bool>& used, const arrays::Workers& workers);

  bool any() const { return !set_.empty(); }
  Terms terms() const { return {degrees_, set_.data(), count(), ends_.data()}; }
  int count() const { return static_cast<int>(set_.size()); }
  int padded() const { return (count() + kRowsOfBlock - 1) / kRowsOfBlock * kRowsOfBlock; }
  const ClassMatrix& matrix(int box_class) const { return matrices_[static_cast<std::size_t>(box_class)]; }

  // A turn of the axes takes term k to term place[k], times sign[k].
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
  void collect(const std::vector<BoxClass>& classes, const std::vector<bool>& used, const arrays::Workers& workers);
  void make_turns();
  ClassMatrix matrix_of(const PairSeries& series) const;

  int degrees_ = 0;
  std::vector<int> set_;    // the numbers of terms, in order
  std::vector<int> ends_;   // of degrees along the last axis, as in Terms
  std::vector<int> place_;  // in the set, by a term's number; -1 where it is no term
  std::vector<ClassMatrix> matrices_;
  std::vector<Turn> turns_;
};

}  // namespace far
}  // namespace kernweave
