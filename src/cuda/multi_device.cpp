// A pass on several devices. Each device has whole blocks of rows and a thread; the calling thread has the first device
// and polls the user's interrupt. The number of devices of one model changes no result.
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

// Returns the whole blocks of a pass that cover `rows`, whose borders may come from another pass (of tensor cores that
// failed). Empty rows give no block.
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

void run_all(const Jobs& jobs, MemoryRoom room, const std::vector<const Task*>& tasks) {
  std::vector<std::atomic<double>> done(jobs.size());
  const auto mean = [&] { return std::accumulate(done.begin(), done.end(), 0.0) / static_cast<double>(done.size()); };
  share_out(
      static_cast<int>(jobs.size()), static_cast<std::int64_t>(jobs.size()), [&](double) { tasks[0]->poll(mean()); },
      [&](int, std::int64_t number, const Heartbeat& beat) {
        const std::size_t k = static_cast<std::size_t>(number);
        const auto note = [&](double share) {
          done[k] = share;
          beat();
        };
        jobs[k]->run(room, note, tasks);
      });
}

bool run_at_once(const ReadyPass& ready, const Runs& runs, const Range& all, MemoryRoom room) {
  std::vector<const Task*> tasks;
  for (std::int64_t k = runs.some.from; k < static_cast<std::int64_t>(runs.tasks.size()); k += runs.own)
    tasks.push_back(&runs.tasks[static_cast<std::size_t>(k)]);
  const std::vector<Range> rows = rows_of_devices(ready.pass, all, ready.devices.size());
  Jobs jobs;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    ready.devices[k]->enter();
    jobs.push_back(std::make_unique<PassRun>(ready, k, *tasks[0], rows[k], runs.some.size()));
  }
  run_all(jobs, room, tasks);
  if (std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job->lost(); })) return false;
  jobs[0]->finish(jobs);
  return true;
}

}  // namespace

bool run_pass(const ReadyPass& ready, const Runs& runs, const Range& rows, MemoryRoom room) {
  try {
    return on_devices(ready.devices, [&] { return run_at_once(ready, runs, rows, room); });
  } catch (const Failure& failure) {
    if (failure.fault != Fault::memory || runs.some.size() == 1) throw;
  }
  const std::int64_t half = runs.some.from + runs.some.size() / 2;
  const bool found = run_pass(ready, {runs.tasks, {runs.some.from, half}, runs.own}, rows, room);
  return run_pass(ready, {runs.tasks, {half, runs.some.to}, runs.own}, rows, room) && found;
}

}  // namespace cuda
}  // namespace kernweave
