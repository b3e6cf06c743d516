// Components are gathered one after the other, so that each is read from a memory that is not too large.
#include "cpu/boxed_points.hpp"

#include <cstring>

namespace kernweave {

template <class T>
BoxedPoints<T>::BoxedPoints(const Coordinates<T>& values, std::int64_t first, const PanelShape& shape,
                            std::shared_ptr<const BoxTree<T>> tree, std::int64_t grain)
    : shape_(shape), tree_(std::move(tree)) {
  const std::vector<std::int64_t>& order = tree_->order();
  const auto padded = [&](std::int64_t points) { return (points + grain - 1) / grain * grain; };
  const auto points = static_cast<std::int64_t>(order.size());
  first_other_ = padded(tree_->boxed());
  const std::int64_t places = first_other_ + padded(points - tree_->boxed());
  const auto last_boxed = order.begin() + tree_->boxed();
  std::vector<std::int64_t> rows(order.begin(), last_boxed);
  // If a place has no point, the last point is repeated.
  rows.resize(static_cast<std::size_t>(first_other_), rows.empty() ? 0 : rows.back());
  rows.insert(rows.end(), last_boxed, order.end());
  rows.resize(static_cast<std::size_t>(places), rows.empty() ? 0 : rows.back());
  names_.push_back(0);
  for (std::int64_t& row : rows) names_.push_back((row += first) + 1);
  panel_.resize(static_cast<std::size_t>(places * shape_.components));
  for (int c = 0; c < shape_.components && points > 0; ++c) {
    const std::vector<T>& from = values[static_cast<std::size_t>(c)];
    for (std::int64_t p = 0; p < places; ++p) {
      const std::int64_t row = rows[static_cast<std::size_t>(p)];
      panel_[static_cast<std::size_t>(shape_.place(p, c))] = from[static_cast<std::size_t>(row)];
    }
  }
}

template <class T>
bool same_numbers(const Coordinates<T>& a, const Coordinates<T>& b) {
  const auto same = [](const std::vector<T>& x, const std::vector<T>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

template <class T>
Coordinates<T> part_of(const Coordinates<T>& values, const std::vector<int>& components, const Range& points) {
  Coordinates<T> part;
  for (const int c : components) {
    const std::vector<T>& all = values[static_cast<std::size_t>(c)];
    part.emplace_back(all.begin() + points.from, all.begin() + points.to);
  }
  return part;
}

template class BoxedPoints<float>;
template class BoxedPoints<double>;
template bool same_numbers(const Coordinates<float>&, const Coordinates<float>&);
template bool same_numbers(const Coordinates<double>&, const Coordinates<double>&);
template Coordinates<float> part_of(const Coordinates<float>&, const std::vector<int>&, const Range&);
template Coordinates<double> part_of(const Coordinates<double>&, const std::vector<int>&, const Range&);

}  // namespace kernweave
