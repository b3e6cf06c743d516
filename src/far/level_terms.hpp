// The terms of the expansions of a level, products of polynomials, and the M2L matrices of its classes.
#pragma once
#include <vector>

#include "arrays/pieces.hpp"
#include "far/offset_class.hpp"
#include "far/loops.hpp"

namespace kernweave {
namespace far {

// The M2L (moment-to-local) matrix of a class, from moments of the source to the local expansion of the target.
struct M2LMatrix {
  std::vector<int> first, columns;
  std::vector<double> numbers;
  // In a proof, the sums of sizes of dropped coefficients: by the source's term, and of source terms outside the set.
  std::vector<double> dropped;
  double of_no_term = 0;

  BlockRows rows() const {
    return {static_cast<int>(first.size()) - 1, first.data(), columns.data(), numbers.data()};
  }
};

// The set of terms of all classes of a level, closed under permutations of the axes, so that all offsets share the set.
template <int D>
class LevelTerms {
 public:
  // Makes the matrices of the expansions of used classes, and frees all expansions. Coefficients of terms outside of
  // the set are added to the bound of their class.
  LevelTerms(std::vector<OffsetClass>* classes, const std::vector<bool>& used, const arrays::Workers& workers);

  bool any() const { return !set_.empty(); }
  Terms terms() const { return {degrees_, set_.data(), count(), ends_.data()}; }
  int count() const { return static_cast<int>(set_.size()); }
  int padded() const { return (count() + kRowsOfBlock - 1) / kRowsOfBlock * kRowsOfBlock; }
  const M2LMatrix& matrix(int offset_class) const { return matrices_[static_cast<std::size_t>(offset_class)]; }

  // A permutation of the axes takes term k to term place[k], times sign[k].
  struct TermPermutation {
    std::vector<int> place;
    std::vector<double> sign;
  };
  const TermPermutation& permutation(int number) const { return permutations_[static_cast<std::size_t>(number)]; }

  double bytes() const;

 private:
  using Degrees = std::array<int, D>;

  int number_of(const Degrees& degrees) const;
  Degrees degrees_of(int number) const;
  void collect(const std::vector<OffsetClass>& classes, const std::vector<bool>& used, const arrays::Workers& workers);
  void make_permutations();
  M2LMatrix matrix_of(const KernelExpansion& expansion) const;

  int degrees_ = 0;
  std::vector<int> set_;    // the numbers of terms, in order
  std::vector<int> ends_;   // the ends of degrees along the last axis, as in Terms
  std::vector<int> place_;  // position in the set, by a term's number; -1: no term
  std::vector<M2LMatrix> matrices_;
  std::vector<TermPermutation> permutations_;
};

}  // namespace far
}  // namespace kernweave
