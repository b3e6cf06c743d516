// A coefficient's place among those of its class tells the degrees in target and source; a term's number, its degrees.
#include "far/terms.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace kernweave {
namespace far {
namespace {

// Degrees in the target and in the source, axis by axis.
template <int D>
struct Pair {
  std::array<int, D> target, source;
};
template <int D>
Pair<D> pair_at(std::size_t at, int degrees) {
  Pair<D> found;
  const auto wide = static_cast<std::size_t>(degrees);
  for (std::size_t d = D; d-- > 0;) {
    found.source[d] = static_cast<int>(at % wide);
    at /= wide;
    found.target[d] = static_cast<int>(at % wide);
    at /= wide;
  }
  return found;
}

template <int D, class F>
void each_kept(const BoxClass& of, F f) {
  for (std::size_t at = 0; at < of.coefficients.size(); ++at)
    if (std::abs(of.coefficients[at]) >= of.least) f(pair_at<D>(at, of.degrees), of.coefficients[at]);
}

template <int D>
std::array<int, D> sorted(std::array<int, D> degrees) {
  std::sort(degrees.begin(), degrees.end());
  return degrees;
}

}  // namespace

template <int D>
LevelTerms<D>::LevelTerms(std::vector<BoxClass>* classes, const std::vector<bool>& used,
                          const arrays::Workers& workers) {
  for (std::size_t c = 0; c < classes->size(); ++c)
    if (used[c]) degrees_ = std::max(degrees_, (*classes)[c].degrees);
  if (any()) {
    collect(*classes, used);
    make_turns();
  }
  matrices_.resize(classes->size());
  arrays::each_task(workers, static_cast<Index>(classes->size()), [&](Index task) {
    const auto c = static_cast<std::size_t>(task);
    if (used[c]) matrices_[c] = matrix_of((*classes)[c]);
    (*classes)[c].coefficients = {};
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

// In order of parity, which is that of what classes have zeros at, and then of degree.
template <int D>
void LevelTerms<D>::collect(const std::vector<BoxClass>& classes, const std::vector<bool>& used) {
  std::vector<bool> needed(static_cast<std::size_t>(power(degrees_, D)));
  for (std::size_t c = 0; c < classes.size(); ++c)
    if (used[c])
      each_kept<D>(classes[c], [&](const Pair<D>& pair, double) {
        needed[static_cast<std::size_t>(number_of(sorted<D>(pair.target)))] = true;
        needed[static_cast<std::size_t>(number_of(sorted<D>(pair.source)))] = true;
      });
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
void LevelTerms<D>::make_turns() {
  turns_.resize(kTurns);
  const int orders = D == 1 ? 1 : D == 2 ? 2 : 6;
  for (int order = 0; order < orders; ++order)
    for (int signs = 0; signs < 1 << D; ++signs) {
      const int number = signs | order << 3;
      const Offset<D> axes = axes_of<D>(number);
      Turn& turn = turns_[static_cast<std::size_t>(number)];
      for (const int term : set_) {
        const Degrees degrees = degrees_of(term);
        Degrees turned;
        bool negative = false;
        for (std::size_t d = 0; d < D; ++d) {
          turned[d] = degrees[static_cast<std::size_t>(axes[d])];
          if (is_turned(number, static_cast<int>(d))) negative ^= degrees[d] % 2 == 1;
        }
        turn.place.push_back(place_[static_cast<std::size_t>(number_of(turned))]);
        turn.sign.push_back(negative ? -1 : 1);
      }
    }
}

template <int D>
ClassMatrix LevelTerms<D>::matrix_of(const BoxClass& of) const {
  const auto n = static_cast<std::size_t>(count()), blocks = static_cast<std::size_t>(padded() / kRowsOfBlock);
  std::vector<int> at(blocks * n, -1);  // where a block has a column
  const auto block_of = [&](const Pair<D>& pair) {
    return static_cast<std::size_t>(place_[static_cast<std::size_t>(number_of(pair.target))] / kRowsOfBlock);
  };
  const auto column_of = [&](const Pair<D>& pair) {
    return static_cast<std::size_t>(place_[static_cast<std::size_t>(number_of(pair.source))]);
  };
  each_kept<D>(of, [&](const Pair<D>& pair, double) { at[block_of(pair) * n + column_of(pair)] = 0; });
  ClassMatrix matrix;
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
  // Small ones beside kept ones are there for nothing, so they are taken, too.
  for (std::size_t k = 0; k < of.coefficients.size(); ++k) {
    const Pair<D> pair = pair_at<D>(k, of.degrees);
    const int target = place_[static_cast<std::size_t>(number_of(pair.target))],
              source = place_[static_cast<std::size_t>(number_of(pair.source))];
    if (target < 0 || source < 0) continue;
    const int entry = at[static_cast<std::size_t>(target / kRowsOfBlock) * n + static_cast<std::size_t>(source)];
    if (entry < 0) continue;
    matrix.numbers[static_cast<std::size_t>(entry * kRowsOfBlock + target % kRowsOfBlock)] = of.coefficients[k];
  }
  return matrix;
}

template <int D>
double LevelTerms<D>::bytes() const {
  double all = 0;
  for (const ClassMatrix& m : matrices_)
    all += static_cast<double>(m.columns.size()) * (sizeof(int) + kRowsOfBlock * sizeof(double));
  return all;
}

template class LevelTerms<1>;
template class LevelTerms<2>;
template class LevelTerms<3>;

}  // namespace far
}  // namespace kernweave
