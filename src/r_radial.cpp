// R's way to tables of radial functions: the smoothness of a Matern kernel, or the values of a function, to numbers.
#include "border.hpp"
#include "distance/radial_table.hpp"

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_table(double nu, int most) {
  return kernweave::at_border([&] { return kernweave::distance::matern_table(nu, most); });
}

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_slope_table(double nu) {
  return kernweave::at_border([&] { return kernweave::distance::matern_slope_table(nu); });
}

// [[Rcpp::export(rng = false)]]
std::vector<double> r_table_nodes(int first, int end) {
  return kernweave::at_border([&] { return kernweave::distance::table_nodes(first, end); });
}

// `worst` is the squared distance at which polynomials are off most.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_values_table(std::vector<double> values, double at_zero, int first, int most, bool is_mixture) {
  return kernweave::at_border([&] {
    const kernweave::distance::ValuesTable table =
        kernweave::distance::values_table(values, at_zero, first, most, is_mixture);
    return Rcpp::List::create(Rcpp::_["numbers"] = table.numbers, Rcpp::_["error"] = table.error,
                              Rcpp::_["worst"] = table.worst);
  });
}

// [[Rcpp::export(rng = false)]]
std::vector<double> r_look_up(std::vector<double> table, int order, std::vector<double> squares) {
  return kernweave::at_border([&] {
    for (double& s : squares) s = kernweave::distance::look_up(table, order, s);
    return squares;
  });
}
