// A value as a product: factors of either side, a value of the profile, and a polynomial of the difference of points.
#pragma once
#include <optional>
#include <vector>

#include "far/linear.hpp"
#include "far/polynomial.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace far {

// A factor, or what is divided by: a value, and which of its components stands in each of the product; one for all.
struct Factor {
  Ref ref;
  bool divides;
  std::vector<int> components;
};

struct Part {
  static constexpr int kOne = -1;

  std::vector<Factor> rows, columns;
  Polynomials value = {Polynomial::number(1)};
  int place = kOne;  // of a value of the profile, if there is one
  // What adds up its components, which have different factors, until another sum has none of these.
  std::optional<Op> adds_up{};

  int degree() const { return degree_of(value); }
  bool is_single() const { return value.size() == 1; }
  bool is_zero() const { return far::is_zero(value); }
  bool has_factors() const { return !rows.empty() || !columns.empty(); }
  const Factor& first_factor() const { return (rows.empty() ? columns : rows)[0]; }
};

Part number_part(const std::vector<double>& numbers);

// But for the place, which whoever multiplies knows.
Part product(Part a, const Part& b);
Part inverse(Part part);
Part opposite(Part part);
// Of factors with several components, no two may come together.
Part under_image(Part part, const Image& image, Op op);
// All components of so many added up, or to be.
Part folded(Part part, int width, Op op);
// Component which(c) for each c of so many.
template <class Which>
Part spread(const Part& part, int width, Which which) {
  Image image(static_cast<std::size_t>(width));
  for (int c = 0; c < width; ++c) image[static_cast<std::size_t>(c)].emplace_back(which(c), 1.0);
  return under_image(part, image, Op::TensorProd);
}

bool same_factors(const Part& a, const Part& b);
// The one that `more` has besides those of `less`.
std::optional<Factor> one_more(std::vector<Factor> more, const std::vector<Factor>& less);

}  // namespace far
}  // namespace kernweave
