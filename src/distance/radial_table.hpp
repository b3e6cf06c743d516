// Tables of radial functions: a function of the squared distance and its derivatives, as polynomials piece by piece, in
// the form that inst/include/kernweave/op/radial_table.hpp reads.
#pragma once
#include <vector>

#include "distance/ball.hpp"

namespace kernweave {
namespace distance {

// The numbers at the head of a table: how its values are bounded at complex distances.
struct TableBounds {
  enum Evidence {
    none,       // nothing is known
    mixture,    // a mixture of Gaussians: |f(z)| <= f(Re z), and so for all derivatives
    by_matern,  // the derivative of a Matern function by its smoothness; orders 2 and 3 are that function and its slope
  };
  double known = none;
  double trigamma = 0, inverse_nu = 0;  // for by_matern
};

// Returns derivatives 0 to `most` of the Matern covariance of smoothness nu by s = 2 nu d^2, for the scaled distance d.
std::vector<double> matern_table(double nu, int most);
// Returns derivatives 0 and 1 by s of the derivative by nu of this covariance, at a fixed distance.
std::vector<double> matern_slope_table(double nu);

// Returns squared distances at which to give a function, twelve for each segment of the octaves from 2^first to 2^end.
std::vector<double> table_nodes(int first, int end);
// Returns derivatives 0 to `most` of a function with these values at the nodes and `at_zero` at 0. `error` becomes the
// largest difference of a value and its polynomial, `worst` the squared distance of this difference.
struct ValuesTable {
  std::vector<double> numbers;
  double error, worst;
};
ValuesTable values_table(const std::vector<double>& values, double at_zero, int first, int most, bool is_mixture);

// Returns one order of a table at a number, as the operation does.
double look_up(const std::vector<double>& table, int order, double s);
// Returns a ball that contains the values of the table on a ball of squared distances.
Ball bound_of_look_up(const std::vector<double>& table, int order, const Ball& square);

}  // namespace distance
}  // namespace kernweave
