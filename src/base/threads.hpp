// Threads that share out numbered tasks. The calling thread returns once none of the others is at work.
#pragma once
#include <cstdint>
#include <functional>

namespace kernweave {

// How many threads a call may use: what is asked for, or half of the machine's cores as far as this process may use
// them, within the limits that the environment sets; one in a forked process.
int allowed_threads(int asked);

// What a worker calls now and then, some milliseconds apart: on the calling thread it looks for the user's
// interrupt, on the others for the end that was decided there. Leaves by an exception.
using Heartbeat = std::function<void()>;

// Runs work(worker, task, beat) for tasks 0 .. tasks - 1, in any order, each once, on `threads` threads, the
// calling one among them. `poll` is called on that thread only, with the share of tasks that are done.
void share_out(int threads, std::int64_t tasks, const std::function<void(double)>& poll,
               const std::function<void(int, std::int64_t, const Heartbeat&)>& work);

}  // namespace kernweave
