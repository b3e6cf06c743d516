// Threads: tasks that they share out, threads that wait between calls, a deep stack.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace kernweave {

// The threads that a call may use, and the reason. What is asked for is had, within OMP_THREAD_LIMIT. Else one in a
// worker of somebody who works in parallel already: it shares the cores with its siblings. Else all cores that this
// process was given, or half of the machine's where nobody has said: others may sit there.
struct TeamSize {
  int threads;
  std::string why;
};
TeamSize team_size(int asked);

inline int allowed_threads(int asked) { return team_size(asked).threads; }

// Said once, where the code is loaded: forks are seen from then on. `worker`: what this process is a worker of already,
// in words; "" for none.
void note_process(const std::string& worker);

// The function that a worker calls now and then, some milliseconds apart: on the calling thread it looks for the user's
// interrupt, on other threads for the end that was decided there. It leaves by an exception.
using Heartbeat = std::function<void()>;
using Poll = std::function<void(double)>;  // called with the share of the work that is done

// A function that is called while whoever gave it waits, so that it is not copied.
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

// Runs work(worker, task, beat) for tasks 0 .. tasks - 1, in any order, each once, on `threads` threads, the
// calling one among them. `poll` is called on that thread only, with the share of tasks that are done. Each task begins
// with a beat; long ones beat in between.
void share_out(int threads, std::int64_t tasks, const Poll& poll,
               Borrowed<void(int, std::int64_t, const Heartbeat&)> work);

// --- crew ----------------------------------------------------------------------------------------------------------
// Threads that wait for work between calls, since starting one may take longer than the work of a small call.

namespace crew {

// Gives the work to a waiting thread or a new thread; std::system_error or std::bad_alloc if no thread can be had. The
// work may not throw.
void start(std::function<void()> work);

// Ends those that wait, before their code is unloaded. None of them may be at work.
void dismiss();

}  // namespace crew

// Runs work on a thread with a deep stack, for what recurses as far as its input is nested. Returns when the work is
// done; what it throws is thrown here.
void on_deep_stack(const std::function<void()>& work);

}  // namespace kernweave
