// Threads that wait for work between calls, since starting one may take longer than the work of a small call.
#pragma once
#include <functional>

namespace kernweave {
namespace crew {

// Gives the work to a waiting thread or a new thread; std::system_error or std::bad_alloc if no thread can be had. The
// work may not throw.
void start(std::function<void()> work);

// Ends those that wait, before their code is unloaded. None of them may be at work.
void dismiss();

}  // namespace crew
}  // namespace kernweave
