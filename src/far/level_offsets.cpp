// Twice the offset of the parents, and one more or less where the children are in different corners.
#include "far/level_offsets.hpp"

#include <map>
#include <numeric>

namespace kernweave {
namespace far {

template <int D>
LevelOffsets<D>::LevelOffsets(const std::vector<Offset<D>>& parents, const std::vector<int>& split)
    : of_children_(parents.size() << 2 * D, -1) {
  constexpr int kCorners = 1 << D;
  std::map<Offset<D>, int> number;
  for (const int parent : split)
    for (int corners = 0; corners < kCorners * kCorners; ++corners) {
      Offset<D> offset = parents[static_cast<std::size_t>(parent)];
      for (int d = 0; d < D; ++d) {
        const int down = D - 1 - d, of_target = corners >> (D + down) & 1, of_source = corners >> down & 1;
        offset[static_cast<std::size_t>(d)] = 2 * offset[static_cast<std::size_t>(d)] + of_target - of_source;
      }
      const auto found = number.emplace(offset, count());
      if (found.second) all_.push_back(offset);
      of_children_[static_cast<std::size_t>(parent * kCorners * kCorners + corners)] = found.first->second;
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
