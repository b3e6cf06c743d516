#include "execute/backends.hpp"

#include "base/error.hpp"
#include "cpu/cpu.hpp"
#include "cuda/cuda.hpp"
#include "reference/reference.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all{&cpu_backend(), &cuda_backend("gpu"), &reference_backend()};
  return all;
}

const Backend& backend_named(const std::string& name) {
  for (const Backend* backend : backends_for(name))
    if (name == backend->name()) return *backend;
  fail(Fault::internal, "no back end named ", name);
}

std::vector<const Backend*> backends_for(const std::string& device) {
  const bool numbered = !device.empty() && device[0] >= '0' && device[0] <= '9';
  if (device == "all" || numbered) return {&cuda_backend(device)};
  return backends();
}

}  // namespace kernweave
