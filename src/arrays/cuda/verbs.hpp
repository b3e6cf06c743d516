// The verbs for arrays on a device, compiled at installation, or none. Work is put on the device's stream, and waited
// for only if a number is returned.
#pragma once
#include <memory>
#include "arrays/verbs.hpp"

namespace kernweave::arrays::cuda {

using device::Block;
using device::Device;

class CudaVerbs : public Verbs {
 public:
  explicit CudaVerbs(Device& device) : gpu(device) {}

#define VERB(...) __VA_ARGS__ const override;
#include "arrays/verbs.def"

 private:
  void reduce_known(const Request&, const Items&, Index columns, const Segments&, double* out) const;
  bool add_integers(const AddTask& task, const Whole& source, const Numbers& array) const;

  Device& gpu;
};

// Returns null if no nvcc was found at installation, or if the device does not run the verbs: the runtime needs a
// driver that is not older, and code or a translation for the device.
std::unique_ptr<Verbs> verbs_on(Device& device);

}  // namespace kernweave::arrays::cuda
