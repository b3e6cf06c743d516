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
  double trigamma = 0, inverse_nu = 0;  // of by_matern
};

// Derivatives 0, ..., most by s of the Matern covariance of smoothness nu, with s = 2 nu d^2 for the scaled distance d.
std::vector<double> matern_table(double nu, int most);
// Derivatives 0 and 1 by s of the derivative of that covariance by nu, at a distance that does not move.
std::vector<double> matern_slope_table(double nu);

// Squared distances at which a function is to be given, twelve for each segment of the octaves from 2^first to 2^end.
std::vector<double> table_nodes(int first, int end);
// Derivatives 0, ..., most of a function with these values at the nodes and this one at 0. `error` becomes the largest
// difference of a value and its polynomial, `worst` the squared distance where it is.
struct ValuesTable {
  std::vector<double> numbers;
  double error, worst;
};
ValuesTable values_table(const std::vector<double>& values, double at_zero, int first, int most, bool is_mixture);

// One order of a table at a number, as the operation finds it.
double look_up(const std::vector<double>& table, int order, double s);
// A ball that has its values on a ball of squared distances.
Ball bound_of_look_up(const std::vector<double>& table, int order, const Ball& square);

}  // namespace distance
}  // namespace kernweave
