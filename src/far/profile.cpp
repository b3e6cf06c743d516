// The steps, one after the other, each through the functions that its row gave to the table.
#include "far/profile.hpp"

#include <algorithm>

namespace kernweave {
namespace far {

int Profile::add_number(double number) {
  at_.push_back(places());
  numbers_.push_back(number);
  return at_.back();
}

int Profile::add_step(Op op, const std::vector<int>& in) {
  out_.push_back(places());
  Step step{row(op).value, bounded(op), {}};
  std::copy(in.begin(), in.end(), step.in.begin());
  steps_.push_back(step);
  return out_.back();
}

template <class L, class Apply>
L Profile::run(L square, Apply apply) const {
  std::array<L, kMostPlaces> values;
  values[0] = square;
  for (std::size_t k = 0; k < numbers_.size(); ++k) values[static_cast<std::size_t>(at_[k])] = L(numbers_[k]);
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    L in[3];
    for (std::size_t a = 0; a < 3; ++a) in[a] = values[static_cast<std::size_t>(steps_[k].in[a])];
    values[static_cast<std::size_t>(out_[k])] = apply(steps_[k], in);
  }
  return values[static_cast<std::size_t>(result_)];
}

double Profile::at(double square) const {
  return run(Lane(square), [](const Step& step, const Lane* in) { return step.value(in); }).v;
}

Disc Profile::over(const Disc& square) const {
  return run(square, [](const Step& step, const Disc* in) { return step.bounded(in); });
}

}  // namespace far
}  // namespace kernweave
