// Nothing survives a fork: the child has none of its parent's threads, and begins with a crew of its own.
#include "base/crew.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace kernweave {
namespace crew {
namespace {

// Threads that are started meanwhile get no signals, which are for the thread that R runs on: one of those that wait
// would take the end of a child from it.
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

// Never deleted but by dismiss(): at the end of the process threads may still wait there.
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
}  // namespace kernweave
