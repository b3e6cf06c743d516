// Makes the terms and matrices of a level's expansions. The digits of a term's number are its degrees along the axes.
#include "far/level_terms.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>

namespace kernweave {
namespace far {
namespace {

template <int D>
std::array<int, D> sorted(std::array<int, D> degrees) {
  std::sort(degrees.begin(), degrees.end());
  return degrees;
}

}  // namespace

template <int D>
LevelTerms<D>::LevelTerms(std::vector<OffsetClass>* classes, const std::vector<bool>& used,
                          const arrays::Workers& workers) {
  for (std::size_t c = 0; c < classes->size(); ++c)
    if (used[c]) degrees_ = std::max(degrees_, (*classes)[c].expansion.degrees);
  if (degrees_ > 0) {
    collect(*classes, used, workers);
    make_permutations();
  }
  matrices_.resize(classes->size());
  arrays::each_task(workers, static_cast<Index>(classes->size()), [&](Index task) {
    const auto c = static_cast<std::size_t>(task);
    if (used[c]) matrices_[c] = matrix_of((*classes)[c].expansion);
    (*classes)[c].bound += matrices_[c].of_no_term;
    (*classes)[c].expansion = {};
  });
}

template <int D>
int LevelTerms<D>::number_of(const Degrees& degrees) const {
  int number = 0;
  for (const int degree : degrees) number = number * degrees_ + degree;
  return number;
}

template <int D>
typename LevelTerms<D>::Degrees LevelTerms<D>::degrees_of(int number) const {
  Degrees degrees;
  for (std::size_t d = D; d-- > 0; number /= degrees_) degrees[d] = number % degrees_;
  return degrees;
}

// Collects the terms, sorted by the parities of their degrees (zeros of matrices depend on them), then by total degree.
template <int D>
void LevelTerms<D>::collect(const std::vector<OffsetClass>& classes, const std::vector<bool>& used,
                            const arrays::Workers& workers) {
  const auto all = static_cast<std::size_t>(power(degrees_, D));
  std::vector<char> met(all), needed(all);  // terms that occur; terms that occur in some order of the axes
  std::mutex door;
  arrays::each_task(workers, static_cast<Index>(classes.size()), [&](Index c) {
    if (!used[static_cast<std::size_t>(c)]) return;
    const KernelExpansion& expansion = classes[static_cast<std::size_t>(c)].expansion;
    std::vector<char> mine(all);
    expansion.each<D>(degrees_, [&](int target, int source, double coefficient) {
      if (!expansion.keeps(coefficient)) return;
      mine[static_cast<std::size_t>(target)] = mine[static_cast<std::size_t>(source)] = 1;
    });
    const std::lock_guard<std::mutex> inside(door);
    for (std::size_t number = 0; number < all; ++number) met[number] |= mine[number];
  });
  for (std::size_t number = 0; number < all; ++number)
    if (met[number])
      needed[static_cast<std::size_t>(number_of(sorted<D>(degrees_of(static_cast<int>(number)))))] = 1;
  std::vector<std::tuple<int, int, int>> order;
  for (std::size_t number = 0; number < needed.size(); ++number) {
    const Degrees degrees = degrees_of(static_cast<int>(number));
    if (!needed[static_cast<std::size_t>(number_of(sorted<D>(degrees)))]) continue;
    int parity = 0, sum = 0;
    for (const int degree : degrees) {
      parity = parity * 2 + degree % 2;
      sum += degree;
    }
    order.emplace_back(parity, sum, static_cast<int>(number));
  }
  std::sort(order.begin(), order.end());
  place_.assign(needed.size(), -1);
  ends_.assign(static_cast<std::size_t>(power(degrees_, D - 1)), 0);
  for (const auto& entry : order) {
    const int number = std::get<2>(entry);
    place_[static_cast<std::size_t>(number)] = count();
    set_.push_back(number);
    int& end = ends_[static_cast<std::size_t>(number / degrees_)];
    end = std::max(end, number % degrees_ + 1);
  }
}

template <int D>
void LevelTerms<D>::make_permutations() {
  permutations_.resize(kSignedPermutations);
  const int orders = D == 1 ? 1 : D == 2 ? 2 : 6;
  for (int order = 0; order < orders; ++order)
    for (int signs = 0; signs < 1 << D; ++signs) {
      const int number = signs | order << 3;
      const Offset<D> axes = axes_of<D>(number);
      TermPermutation& permutation = permutations_[static_cast<std::size_t>(number)];
      for (const int term : set_) {
        const Degrees degrees = degrees_of(term);
        Degrees permuted;
        bool negative = false;
        for (std::size_t d = 0; d < D; ++d) {
          permuted[d] = degrees[static_cast<std::size_t>(axes[d])];
          if (is_reflected(number, static_cast<int>(d))) negative ^= degrees[d] % 2 == 1;
        }
        permutation.place.push_back(place_[static_cast<std::size_t>(number_of(permuted))]);
        permutation.sign.push_back(negative ? -1 : 1);
      }
    }
}

template <int D>
M2LMatrix LevelTerms<D>::matrix_of(const KernelExpansion& expansion) const {
  const auto n = static_cast<std::size_t>(count()), blocks = static_cast<std::size_t>(padded() / kRowsOfBlock);
  std::vector<int> at(blocks * n, -1);  // the position of a column in a block
  const auto index_of = [&](int term) { return place_[static_cast<std::size_t>(term)]; };
  const auto entry = [&](int row, int column) -> int& {
    return at[static_cast<std::size_t>(row / kRowsOfBlock) * n + static_cast<std::size_t>(column)];
  };
  expansion.each<D>(degrees_, [&](int target, int source, double coefficient) {
    if (expansion.keeps(coefficient)) entry(index_of(target), index_of(source)) = 0;
  });
  M2LMatrix matrix;
  for (std::size_t block = 0; block < blocks; ++block) {
    matrix.first.push_back(static_cast<int>(matrix.columns.size()));
    for (std::size_t column = 0; column < n; ++column) {
      if (at[block * n + column] < 0) continue;
      at[block * n + column] = static_cast<int>(matrix.columns.size());
      matrix.columns.push_back(static_cast<int>(column));
    }
  }
  matrix.first.push_back(static_cast<int>(matrix.columns.size()));
  matrix.numbers.assign(matrix.columns.size() * kRowsOfBlock, 0.0);
  if (expansion.count == ErrorSum::sizes) matrix.dropped.assign(n, 0.0);
  // Small coefficients whose column is in a block anyway cost nothing, so they are kept, too.
  expansion.each<D>(degrees_, [&](int target, int source, double coefficient) {
    const int row = index_of(target), column = index_of(source), k = row < 0 || column < 0 ? -1 : entry(row, column);
    if (k >= 0) matrix.numbers[static_cast<std::size_t>(k * kRowsOfBlock + row % kRowsOfBlock)] = coefficient;
    else if (expansion.count == ErrorSum::sizes)
      (column < 0 ? matrix.of_no_term : matrix.dropped[static_cast<std::size_t>(column)]) += std::abs(coefficient);
  });
  return matrix;
}

template <int D>
double LevelTerms<D>::bytes() const {
  double all = 0;
  for (const M2LMatrix& m : matrices_)
    all += static_cast<double>(m.columns.size()) * (sizeof(int) + kRowsOfBlock * sizeof(double));
  return all;
}

template class LevelTerms<1>;
template class LevelTerms<2>;
template class LevelTerms<3>;

}  // namespace far
}  // namespace kernweave
