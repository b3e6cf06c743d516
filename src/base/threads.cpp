// Threads: one counter deals out the tasks; the calling thread works too, and it alone calls R. Threads do not survive
// a fork, so a child process begins with a crew of its own.
#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#endif

#include "base/error.hpp"
#include "base/system.hpp"

namespace kernweave {
namespace crew {
namespace {

// Blocks signals in the threads that are started meanwhile, since signals are for the thread that runs R: a waiting
// thread would take the signal that a child has ended.
class NoSignals {
#if !defined(_WIN32)
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

class Crew {
 public:
  void start(std::function<void()> work) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (waiting_.empty()) add_hand();
    Hand* const hand = waiting_.back();
    waiting_.pop_back();
    hand->work = std::move(work);
    hand->wake.notify_one();
  }

  void dismiss() {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      dismissed_ = true;
      for (const auto& hand : all_) hand->wake.notify_one();
    }
    for (const auto& hand : all_) hand->thread.join();
  }

 private:
  struct Hand {
    std::thread thread;
    std::condition_variable wake;
    std::function<void()> work;
  };

  // Adds a thread. The room for all waiting threads is reserved first.
  void add_hand() {
    waiting_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<Hand>());
    Hand* const hand = all_.back().get();
    try {
      [[maybe_unused]] const NoSignals none;
      hand->thread = std::thread([this, hand] { live(hand); });
    } catch (...) {
      all_.pop_back();
      throw;
    }
    waiting_.push_back(hand);
  }

  void live(Hand* hand) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      hand->wake.wait(lock, [&] { return hand->work || dismissed_; });
      if (!hand->work) return;
      std::function<void()> work = std::exchange(hand->work, nullptr);
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      waiting_.push_back(hand);
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Hand>> all_;
  std::vector<Hand*> waiting_;
  bool dismissed_ = false;
};

// The crew, which only dismiss() deletes: at the end of the process threads may still wait there.
std::atomic<Crew*> own{nullptr};
void forget() { own = nullptr; }

Crew& of_this_process() {
#if !defined(_WIN32)
  static const int registered = pthread_atfork(nullptr, nullptr, forget);
  (void)registered;
#endif
  Crew* found = own;
  if (found) return *found;
  auto made = std::make_unique<Crew>();
  return own.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
}

}  // namespace

void start(std::function<void()> work) { of_this_process().start(std::move(work)); }

void dismiss() {
  const std::unique_ptr<Crew> last(own.exchange(nullptr));
  if (last) last->dismiss();
}

}  // namespace crew

namespace {

// Set in a forked process: parallel::mclapply() forks its workers.
std::atomic<bool> forked{false};
void note_fork() { forked = true; }

void watch_forks() {
#if !defined(_WIN32)
  static const int registered = pthread_atfork(nullptr, nullptr, note_fork);
  (void)registered;
#endif
}

// The text is never freed: the order of destruction at the end of a process is unknown.
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
       Borrowed<void(int, std::int64_t, const Heartbeat&)> work)
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
    for (std::int64_t task; !stopping_ && (task = next_++) < tasks_; ++done_) beat(), work_(worker, task, beat);
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

  // A poll takes microseconds, and the user should have an answer within 0.2 s.
  static constexpr std::chrono::milliseconds kBetweenPolls{50};
  const std::int64_t tasks_;
  const std::function<void(double)>& poll_;
  const Borrowed<void(int, std::int64_t, const Heartbeat&)> work_;
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
               Borrowed<void(int, std::int64_t, const Heartbeat&)> work) {
  if (tasks == 0) return;
  Team(tasks, poll, work).run(static_cast<int>(std::min<std::int64_t>(threads, tasks)));
}

// --- deep stack ----------------------------------------------------------------------------------------------------
// Uses threads of the operating system, since std::thread does not let us set the size of the stack.

namespace {

// The address space is reserved, and a page is allocated at its first use. 64 times the usual size of a thread's stack.
constexpr std::size_t kStackBytes = std::size_t{512} << 20;

struct Errand {
  const std::function<void()>& work;
  std::exception_ptr thrown;

  void run() {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

#ifdef _WIN32
DWORD WINAPI run_errand(void* errand) {
  static_cast<Errand*>(errand)->run();
  return 0;
}
bool run_apart(Errand* errand) {
  const HANDLE thread =
      CreateThread(nullptr, kStackBytes, run_errand, errand, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (!thread) return false;
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
  return true;
}
#elif !defined(__EMSCRIPTEN__)
void* run_errand(void* errand) {
  static_cast<Errand*>(errand)->run();
  return nullptr;
}
bool run_apart(Errand* errand) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                       pthread_create(&thread, &attributes, run_errand, errand) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}
#else
bool run_apart(Errand*) { return false; }
#endif

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  Errand errand{work, nullptr};
  if (!run_apart(&errand)) errand.run();
  if (errand.thrown) std::rethrow_exception(errand.thrown);
}

}  // namespace kernweave
