// A pass on several devices. Each device has whole blocks of rows and a thread; the calling thread has the first device
// and looks for the user's interrupt. How many devices there are changes no result where they are of one model.
#include "cuda/pass_run.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "cuda/limits.hpp"

namespace kernweave {
namespace cuda {
namespace {

using Jobs = std::vector<std::unique_ptr<PassRun>>;

// Whole blocks of the pass: who asks for rows may know borders of another one alone, as of tensor cores where these met
// what they cannot tell. No rows at the end, within a block, are none.
Range whole_blocks(const Pass& pass, const Range& rows) {
  if (rows.size() == 0) return {0, 0};
  const std::int64_t each = pass.shape.block_rows;
  return {rows.from / each * each, std::min(ceiling(rows.to, each) * each, pass.all.lanes)};
}

std::vector<Range> rows_of_devices(const Pass& pass, const Range& asked, std::size_t devices) {
  const Range rows = whole_blocks(pass, asked);
  const std::int64_t blocks = ceiling(rows.size(), pass.shape.block_rows);
  return pieces(rows, ceiling(blocks, static_cast<std::int64_t>(devices)) * pass.shape.block_rows);
}

void run_all(const Jobs& jobs, MemoryRoom room, const std::function<void(double)>& poll) {
  std::vector<std::atomic<double>> done(jobs.size());
  const auto mean = [&] { return std::accumulate(done.begin(), done.end(), 0.0) / static_cast<double>(done.size()); };
  share_out(
      static_cast<int>(jobs.size()), static_cast<std::int64_t>(jobs.size()), [&](double) { poll(mean()); },
      [&](int, std::int64_t task, const Heartbeat& beat) {
        const std::size_t k = static_cast<std::size_t>(task);
        jobs[k]->run(room, [&](double share) {
          done[k] = share;
          beat();
        });
      });
}

// Some runs of outer axes, or where these find no room, half of them and then the others.
void run_batch(const ReadyPass& ready, const std::vector<Task>& tasks, const Range& some, MemoryRoom room) {
  const Task& first = tasks[static_cast<std::size_t>(some.from)];
  device::Device* const device = ready.devices[0];
  try {
    device->enter();
    PassRun run(ready, 0, first, {0, ready.pass.all.lanes}, some.size());
    run.run(room, first.poll);
    return run.finish({});
  } catch (const Failure& failure) {
    device->wait_after_failure();
    if (failure.fault != Fault::memory || some.size() == 1) throw;
  } catch (...) {
    device->wait_after_failure();
    throw;
  }
  const std::int64_t half = some.from + some.size() / 2;
  run_batch(ready, tasks, {some.from, half}, room);
  run_batch(ready, tasks, {half, some.to}, room);
}

}  // namespace

bool run_pass(const ReadyPass& ready, const Task& task, const Range& all, MemoryRoom room) {
  const std::vector<Range> rows = rows_of_devices(ready.pass, all, ready.devices.size());
  Jobs jobs;
  try {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      ready.devices[k]->enter();
      jobs.push_back(std::make_unique<PassRun>(ready, k, task, rows[k]));
    }
    run_all(jobs, room, task.poll);
    if (std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job->lost(); })) return false;
    jobs[0]->finish(jobs);
    return true;
  } catch (...) {
    for (device::Device* device : ready.devices) device->wait_after_failure();
    throw;
  }
}

void run_batches(const ReadyPass& ready, const std::vector<Task>& tasks, MemoryRoom room) {
  for (const Range& some : pieces({0, static_cast<std::int64_t>(tasks.size())}, kGpuRunsOfLaunch))
    run_batch(ready, tasks, some, room);
}

void run_folded(const ReadyPass& ready, const std::vector<Task>& tasks, std::int64_t own, MemoryRoom room) {
  const auto step = static_cast<std::size_t>(own);
  try {
    ready.devices[0]->enter();
    for (std::size_t first = 0; first < step; ++first) {
      std::vector<const Task*> together;
      for (std::size_t k = first; k < tasks.size(); k += step) together.push_back(&tasks[k]);
      PassRun run(ready, 0, *together[0], {0, ready.pass.all.lanes});
      run.run(room, together[0]->poll, together);
      run.finish({});
    }
  } catch (...) {
    ready.devices[0]->wait_after_failure();
    throw;
  }
}

}  // namespace cuda
}  // namespace kernweave
