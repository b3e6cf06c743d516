// Threads: tasks shared among threads, threads that wait between calls, a thread with a deep stack.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace kernweave {

// The number of threads that a call may use, and the reason. A number that was asked for is granted, within
// OMP_THREAD_LIMIT. Otherwise it is 1 in a parallel worker, which shares the cores with its siblings; else all cores
// that this process was granted; else half of the machine's cores, since others may use the machine.
struct TeamSize {
  int threads;
  std::string why;
};
TeamSize team_size(int asked);

inline int allowed_threads(int asked) { return team_size(asked).threads; }

// Must be called once, when the code is loaded, to detect later forks. `worker`: the kind of worker that this process
// is already, in words; "" for none.
void note_process(const std::string& worker);

// A function that a worker calls every few milliseconds. On the calling thread it checks the user's interrupt; on other
// threads it checks whether the work was stopped. It stops the work by an exception.
using Heartbeat = std::function<void()>;
using Poll = std::function<void(double)>;  // called with the share of the work that is done

// A reference to a function, without a copy: the caller keeps the function until the call returns.
template <class Signature>
class Borrowed;
template <class Result, class... Given>
class Borrowed<Result(Given...)> {
 public:
  template <class F>
  Borrowed(const F& f) : f_(&f), call_(call<F>) {}
  Result operator()(Given... given) const { return call_(f_, given...); }

 private:
  template <class F>
  static Result call(const void* f, Given... given) {
    return (*static_cast<const F*>(f))(given...);
  }
  const void* f_;
  Result (*call_)(const void*, Given...);
};

// Runs work(worker, task, beat) for tasks 0 .. tasks - 1, in any order, each once, on `threads` threads, which include
// the calling thread. `poll` is called on the calling thread only, with the share of finished tasks. Each task begins
// with a beat; long tasks call `beat` in between.
void share_out(int threads, std::int64_t tasks, const Poll& poll,
               Borrowed<void(int, std::int64_t, const Heartbeat&)> work);

// --- crew ----------------------------------------------------------------------------------------------------------
// Threads that wait for work between calls, since starting a thread may take longer than the work of a small call.

namespace crew {

// Gives the work to a waiting thread or a new thread. Throws std::system_error or std::bad_alloc if no thread can be
// had. The work may not throw.
void start(std::function<void()> work);

// Ends the waiting threads before their code is unloaded. No thread may be at work.
void dismiss();

}  // namespace crew

// Runs work on a thread with a deep stack, for recursion as deep as the nesting of the input. Returns when the work is
// done, and throws the exceptions of the work.
void on_deep_stack(const std::function<void()>& work);

}  // namespace kernweave
