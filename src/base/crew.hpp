// Threads that wait for work between calls, since starting one may take longer than the work of a small call.
#pragma once
#include <functional>

namespace kernweave {
namespace crew {

// Has a thread do the work, one that waits or else a new one; std::system_error or std::bad_alloc where none can be
// had. The work may not throw.
void start(std::function<void()> work);

// Ends those that wait, before their code is unloaded. None of them may be at work.
void dismiss();

}  // namespace crew
}  // namespace kernweave
