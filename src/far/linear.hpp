// Linear operations on components: which ones are, and what each component of a result takes of its arguments.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace kernweave {
namespace far {

// Of each component of a result, components of the argument and how often these are taken.
using Image = std::vector<std::vector<std::pair<int, double>>>;

// Which arguments a step is linear in, all others being numbers of components: those are `fixed`. None if it is not.
std::optional<std::vector<bool>> linear_arguments(const Step& step, const std::vector<bool>& fixed);

// The image of one of them. `numbers` are the values of those that are not, by their places.
Image image_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers);

// Sums of parts, which know how to add another one times a number. A value has one part, or one for each component.
template <class T>
std::vector<T> under(const Image& image, const std::vector<T>& value) {
  std::vector<T> out(image.size());
  for (std::size_t c = 0; c < image.size(); ++c)
    for (const auto& [from, times] : image[c]) out[c].add(value[value.size() == 1 ? 0 : static_cast<std::size_t>(from)],
                                                          times);
  return out;
}

}  // namespace far
}  // namespace kernweave
