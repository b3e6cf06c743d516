// A small square matrix of numbers.
#pragma once
#include <cstddef>
#include <vector>

namespace kernweave {
namespace distance {

class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t n = 0, double number = 0) : n_(n), numbers_(n * n, number) {}
  std::size_t rows() const { return n_; }
  double& at(std::size_t r, std::size_t c) { return numbers_[r * n_ + c]; }
  double at(std::size_t r, std::size_t c) const { return numbers_[r * n_ + c]; }

 private:
  std::size_t n_;
  std::vector<double> numbers_;
};

// a b, or a b' with the second one transposed.
inline SquareMatrix product(const SquareMatrix& a, const SquareMatrix& b, bool transposed = false) {
  const std::size_t n = a.rows();
  SquareMatrix out(n);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t c = 0; c < n; ++c) out.at(r, c) += a.at(r, k) * (transposed ? b.at(c, k) : b.at(k, c));
  return out;
}

}  // namespace distance
}  // namespace kernweave
