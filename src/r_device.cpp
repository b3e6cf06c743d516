// The list of back ends, and what this installation is.
#include "border.hpp"
#include "r_device.hpp"

#include "reference/reference.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all = {&reference_backend()};
  return all;
}

}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_devices() {
  Rcpp::CharacterVector names;
  for (const kernweave::Backend* backend : kernweave::backends()) names.push_back(backend->name());
  return names;
}

// [[Rcpp::export(rng = false)]]
std::string r_compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}
