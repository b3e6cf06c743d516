// Replaces the verbs for arrays on a device if no nvcc was found at installation: there are no verbs.
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

std::unique_ptr<Verbs> verbs_on(Device&) { return nullptr; }

}  // namespace kernweave::arrays::cuda
