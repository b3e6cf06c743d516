// Twice the offset of the parents, and one more or less where the children are in different corners.
#include "far/level_offsets.hpp"

#include <map>
#include <numeric>

namespace kernweave {
namespace far {

template <int D>
LevelOffsets<D>::LevelOffsets(const std::vector<Offset<D>>& parents, const std::vector<int>& split)
    : of_children_(parents.size() << 2 * D, -1) {
  constexpr int kCorners = 1 << D, kSteps = D == 1 ? 3 : D == 2 ? 9 : 27;
  std::map<Offset<D>, int> number;
  for (const int parent : split) {
    std::array<int, kSteps> of_step;  // by one less, as much or one more along each axis
    for (int step = 0; step < kSteps; ++step) {
      Offset<D> offset = parents[static_cast<std::size_t>(parent)];
      int rest = step;
      for (std::size_t d = D; d-- > 0; rest /= 3) offset[d] = 2 * offset[d] + rest % 3 - 1;
      const auto found = number.emplace(offset, count());
      if (found.second) all_.push_back(offset);
      of_step[static_cast<std::size_t>(step)] = found.first->second;
    }
    for (int target = 0; target < kCorners; ++target)
      for (int source = 0; source < kCorners; ++source) {
        int step = 0;
        for (int d = D; d-- > 0;) step = 3 * step + (target >> d & 1) - (source >> d & 1) + 1;
        of_children_[static_cast<std::size_t>((parent << D | target) << D | source)] =
            of_step[static_cast<std::size_t>(step)];
      }
  }
  fold();
}

template <int D>
void LevelOffsets<D>::fold() {
  std::map<Offset<D>, int> number;
  for (const Offset<D>& offset : all_) number.emplace(folded<D>(offset).at, 0);
  for (auto& [offset, place] : number) {
    place = static_cast<int>(folded_.size());
    folded_.push_back(offset);
  }
  for (const Offset<D>& offset : all_) {
    const Folded<D> of = folded<D>(offset);
    kinds_.push_back({number.at(of.at), of.turn});
  }
}

template <int D>
std::vector<int> LevelOffsets<D>::all_of(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

template <int D>
std::vector<int> LevelOffsets<D>::numbers_of(const std::vector<std::atomic<bool>>& which) {
  std::vector<int> numbers;
  for (std::size_t k = 0; k < which.size(); ++k)
    if (which[k]) numbers.push_back(static_cast<int>(k));
  return numbers;
}

template class LevelOffsets<1>;
template class LevelOffsets<2>;
template class LevelOffsets<3>;

}  // namespace far
}  // namespace kernweave
