// The list of back ends, and what this installation is.
#include "border.hpp"
#include "r_device.hpp"

#include "cpu/cpu.hpp"
#include "cpu/isa.hpp"
#include "reference/reference.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all = {&cpu_backend(), &reference_backend()};
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

// The instruction set in use, after choosing one by name ("" for the best), and all that this machine has.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_instruction_sets(std::string use) {
  return kernweave::at_border([&] {
    kernweave::use_instruction_set(use);
    Rcpp::CharacterVector names(1, kernweave::instruction_set().name);
    for (const kernweave::InstructionSet* set : kernweave::instruction_sets()) names.push_back(set->name);
    return names;
  });
}
