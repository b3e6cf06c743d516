// The workers of a pass, each made by the thread that first needs it, and kept from run to run.
#pragma once
#include <memory>
#include <vector>

namespace kernweave {

template <class Work, class Job>
class PassWorkers {
 public:
  explicit PassWorkers(const Job& job) : job_(job) {}

  void begin(int threads) {
    if (static_cast<int>(workers_.size()) < threads) workers_.resize(static_cast<std::size_t>(threads));
    for (const auto& worker : workers_)
      if (worker) worker->begun = false;
  }
  Work& operator[](int number) {
    std::unique_ptr<PassWorker>& worker = workers_[static_cast<std::size_t>(number)];
    if (!worker) worker = std::make_unique<PassWorker>(job_);
    if (!worker->begun) worker->work.begin();
    worker->begun = true;
    return worker->work;
  }

 private:
  struct PassWorker {
    explicit PassWorker(const Job& job) : work(job) {}
    Work work;
    bool begun = false;
  };

  const Job& job_;
  std::vector<std::unique_ptr<PassWorker>> workers_;
};

}  // namespace kernweave
