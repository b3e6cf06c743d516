// Work on a thread with a deep stack, for what recurses as far as its input is nested.
#pragma once
#include <functional>

namespace kernweave {

// Returns when the work is done; what it throws is thrown here.
void on_deep_stack(const std::function<void()>& work);

}  // namespace kernweave
