// A window for the tests: what a device is asked of points.
#include "border.hpp"
#include "device/cloud.hpp"
#include "device/probe.hpp"

// Every step-th row of points that are sent to a device, and how far they reach from a centre.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_test_cloud(Rcpp::NumericMatrix points, double step, std::vector<double> centre) {
  return kernweave::at_border([&] {
    namespace device = kernweave::device;
    const kernweave::Verdict ready = device::probe(0);
    kernweave::user_check(ready.yes, kernweave::Fault::no_device, ready.why);
    device::Device& gpu = device::open(0);
    const std::size_t bytes = static_cast<std::size_t>(points.size()) * sizeof(double);
    const device::Block block = gpu.allocate(bytes, "a test");
    gpu.upload(block.at(), points.begin(), bytes);
    const device::Cloud cloud{block.at(), points.nrow(), points.ncol()};
    return Rcpp::List::create(
        Rcpp::_["rows"] = device::some_rows(cloud, static_cast<std::int64_t>(step), &gpu),
        Rcpp::_["reach"] = device::reach(cloud, centre, &gpu));
  });
}

// [[Rcpp::export(rng = false)]]
std::string r_cloud_kernels() { return kernweave::device::cloud_kernels(); }
