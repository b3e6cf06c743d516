// Threads: one counter deals out the tasks; the calling thread works too, and alone speaks to R.
#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "base/cores.hpp"
#include "base/crew.hpp"
#include "base/error.hpp"

namespace kernweave {
namespace {

// parallel::mclapply() forks its workers.
std::atomic<bool> forked{false};
void note_fork() { forked = true; }

void watch_forks() {
#if !defined(_WIN32)
  static const int registered = pthread_atfork(nullptr, nullptr, note_fork);
  (void)registered;
#endif
}

// Never freed: the order in which a process takes itself down is not known.
std::string& worker_of() {
  static std::string* const of = new std::string;
  return *of;
}

void limit(TeamSize* had, int most, const std::string& why) {
  if (most < had->threads) *had = {most, why};
}

TeamSize threads_unasked() {
  if (forked) return {1, "in a forked process"};
  if (!worker_of().empty()) return {1, "in " + worker_of()};
  const Cores given = cores_given();
  if (!given.giver.empty()) return {given.count, "given by " + given.giver};
  return {std::max(1, given.count / 2), "half of the machine's"};
}

bool under_check() {
  const char* text = std::getenv("_R_CHECK_LIMIT_CORES_");
  return text && std::string(text) != "false" && std::string(text) != "FALSE" && text[0] != '\0';
}

class Team {
 public:
  Team(std::int64_t tasks, const std::function<void(double)>& poll,
       const std::function<void(int, std::int64_t, const Heartbeat&)>& work)
      : tasks_(tasks), poll_(poll), work_(work), next_look_(Clock::now() + kBetweenPolls) {}

  void run(int threads) {
    for (int worker = 1; worker < threads; ++worker) start(worker);
    guarded([&] { work_through(0, [this] { look(); }); });
    guarded([&] { look_while_others_work(); });
    wait();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // If no thread can be started, the other threads do the work.
  void start(int worker) {
    try {
      std::unique_lock<std::mutex> lock(mutex_);
      crew::start([this, worker] {
        guarded([&] { work_through(worker, [this] { if (stopping_) throw Interrupted(); }); });
        std::unique_lock<std::mutex> lock(mutex_);
        --running_;
        finished_.notify_one();
      });
      ++running_;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (...) {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stopping_ = true;
    }
  }

  void work_through(int worker, const Heartbeat& beat) {
    for (std::int64_t task; !stopping_ && (task = next_++) < tasks_; ++done_) work_(worker, task, beat);
  }

  void look() {
    if (stopping_) throw Interrupted();
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + kBetweenPolls;
    poll_(static_cast<double>(done_) / static_cast<double>(tasks_));
  }

  void look_while_others_work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (running_ > 0) {
      finished_.wait_for(lock, kBetweenPolls);
      lock.unlock();
      if (!stopping_) look();
      lock.lock();
    }
  }

  // Waits until no thread works for this team.
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [&] { return running_ == 0; });
  }

  // A look takes microseconds, an answer within 0.2 s is asked for.
  static constexpr std::chrono::milliseconds kBetweenPolls{50};
  const std::int64_t tasks_;
  const std::function<void(double)>& poll_;
  const std::function<void(int, std::int64_t, const Heartbeat&)>& work_;
  std::atomic<std::int64_t> next_{0}, done_{0};
  std::atomic<bool> stopping_{false};
  Clock::time_point next_look_;
  std::mutex mutex_;
  std::condition_variable finished_;
  int running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void note_process(const std::string& worker) {
  watch_forks();
  worker_of() = worker;
}

TeamSize team_size(int asked) {
  TeamSize had = asked > 0 ? TeamSize{asked, "asked for"} : threads_unasked();
  limit(&had, environment_limit("OMP_THREAD_LIMIT", had.threads), "OMP_THREAD_LIMIT");
  if (asked == 0) limit(&had, environment_limit("OMP_NUM_THREADS", had.threads), "OMP_NUM_THREADS");
  if (under_check()) limit(&had, 2, "R CMD check");
  return had;
}

void share_out(int threads, std::int64_t tasks, const std::function<void(double)>& poll,
               const std::function<void(int, std::int64_t, const Heartbeat&)>& work) {
  if (tasks == 0) return;
  Team(tasks, poll, work).run(static_cast<int>(std::min<std::int64_t>(threads, tasks)));
}

}  // namespace kernweave
