// The points of a side of a matrix (its rows or its columns), their factors, and the checks before they are used.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrays/buffer.hpp"
#include "arrays/pieces.hpp"
#include "base/view.hpp"

namespace kernweave {
namespace distance {

// The numbers of points, component by component: the data themselves, or numbers computed from data.
class Points {
 public:
  explicit Points(std::size_t size) : found_(size), first_(found_.data()), size_(size) {}
  // Takes components of data, from `component` on.
  Points(const View& data, int component, std::size_t size)
      : data_(data), component_(component), first_(data.data + component * data.rows), size_(size) {}
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  std::size_t size() const { return size_; }
  const double* begin() const { return first_; }
  const double* end() const { return first_ + size_; }
  double operator[](std::size_t k) const { return first_[k]; }
  double* found() { return found_.data(); }  // for writing
  const View& data() const { return data_; }  // the data of which they are components; empty if they were computed
  int component() const { return component_; }

 private:
  arrays::Fresh<double> found_;
  View data_;
  int component_ = 0;
  const double* first_;
  std::size_t size_;
};

// Data by their name in the formula.
struct NamedData {
  std::string name;
  View data;
};

// Factors are stored as points are: one for each point, or one for each component of the formula and point; without
// factors, all are 1. Both sides may share their points.
struct Side {
  std::int64_t count = 0;
  std::shared_ptr<Points> points;
  std::vector<double> factors;
  std::vector<NamedData> made_of;  // data with a row for each point, named in errors
};

// Fail if there are too many points, since places of points are of type int, or at the first number that is not finite.
void check_count(const Side& side);
void check_points(const Side& side, const char* axis, const arrays::Workers& workers);
void check_factors(const Side& side, const char* axis, const arrays::Workers& workers);

bool have_same_points(const Side& a, const Side& b, const arrays::Workers& workers);
bool have_same_factors(const Side& a, const Side& b, const arrays::Workers& workers);

// Returns the largest absolute value of a factor.
double largest_factor(const Side& side);

}  // namespace distance
}  // namespace kernweave
