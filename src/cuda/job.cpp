// Lays out what the kernels read and write, and launches them in slices that leave time to ask for an interrupt.
#include "cuda/job.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "cuda/cut.hpp"
#include "cuda/write.hpp"
#include "kernweave/gpu/arguments.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace cuda {
namespace {

constexpr std::int64_t kMostSplits = 65535;  // blocks of a launch along its second axis
constexpr unsigned kPointThreads = 256;  // of kernels with a thread for each point

template <class T>
T* on_device(Pointer at) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(at));
}

// The device's copy of data that somebody owns.
struct Upload : Copy {
  Upload(const double* host, int number, Block block) : host(host), number(number), block(std::move(block)) {}
  const double* host;
  int number;  // of the device
  Block block;
};

class PassJob {
 public:
  PassJob(const Pass& pass, const Task& task, double seconds, Device* device)
      : pass_(pass), task_(task), device_(*device),
        lanes_(pass.share.along_i ? task.schedule->sizes.i : task.schedule->sizes.j),
        sweep_(pass.share.along_i ? task.schedule->sizes.j : task.schedule->sizes.i),
        cut_(cut(pass, lanes_, sweep_, device->processors(), seconds)),
        kernels_(device->kernels(source_of(pass), static_cast<int>(pass.shared_bytes()))) {}

  void run() {
    place_numbers();
    place_data();
    place_panels();
    place_targets();
    launch_points("once", 1);
    launch_points("columns", even_columns());
    if (pass_.lanes.any_wide()) launch_points("rows", lanes_);
    for (std::int64_t block = 0; block < cut_.blocks; block += cut_.chunk) sweep_chunk(block);
    if (pass_.folds_all()) launch("total", 1, 1, static_cast<unsigned>(pass_.shape.threads), 0);
    fetch();
  }

 private:
  std::int64_t rows_of(std::int64_t blocks) const { return blocks * pass_.shape.threads * pass_.shape.rows; }
  // Strips come out even (kernweave/gpu/sweep.hpp).
  std::int64_t even_columns() const { return ceiling(sweep_, pass_.shape.columns) * pass_.shape.columns; }

  const Output& output(std::size_t k) const { return pass_.variant->outputs[pass_.share.outputs[k]]; }

  Pointer allocate(std::int64_t bytes, const char* what) {
    blocks_.push_back(device_.allocate(static_cast<std::size_t>(bytes), what));
    return blocks_.back().at();
  }

  // Small things go together, in one transfer.
  Pointer stage(const double* from, std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
    if (staged_ + bytes > Device::kStagingBytes) {
      const Pointer at = allocate(static_cast<std::int64_t>(bytes), "the data");
      device_.upload(at, from, bytes);
      return at;
    }
    std::memcpy(device_.staging() + staged_, from, bytes);
    staged_ += bytes;
    return small_.at() + staged_ - bytes;
  }

  void place_numbers() {
    small_ = device_.allocate(Device::kStagingBytes, "the data");
    const std::vector<double>& numbers = pass_.program().numbers;
    head_.numbers = on_device<double>(stage(numbers.data(), static_cast<std::int64_t>(numbers.size())));
  }

  // Data with an owner are sent once.
  Pointer kept(const View& view) {
    Upload* upload = static_cast<Upload*>(view.kept->on_gpu.get());
    if (upload && upload->host == view.data && upload->number == device_.number()) return upload->block.at();
    const std::size_t bytes = static_cast<std::size_t>(view.rows * view.columns) * sizeof(double);
    auto fresh = std::make_unique<Upload>(view.data, device_.number(), device_.allocate(bytes, "the data"));
    device_.upload(fresh->block.at(), view.data, bytes);
    const Pointer at = fresh->block.at();
    view.kept->on_gpu = std::move(fresh);
    return at;
  }

  Pointer sent(const View& view) {
    constexpr std::int64_t kSmall = 1 << 14;
    const std::int64_t count = view.rows * view.columns;
    if (view.kept) return kept(view);
    if (count <= kSmall) return stage(view.data, count);
    const Pointer at = allocate(count * 8, "the data");
    device_.upload(at, view.data, static_cast<std::size_t>(count) * sizeof(double));
    return at;
  }

  void place_data() {
    for (std::size_t v = 0; v < task_.data.size(); ++v) {
      const View& view = task_.data[v];
      gpu::Data data{view.data ? on_device<double>(sent(view)) : nullptr, nullptr, view.rows};
      const std::vector<double>& centre = task_.centres[v];
      if (!centre.empty()) data.centre = on_device<double>(stage(centre.data(), static_cast<std::int64_t>(centre.size())));
      data_.push_back(data);
    }
    device_.upload(small_.at(), device_.staging(), staged_);
  }

  void place_panels() {
    const std::int64_t bytes = pass_.number_bytes();
    head_.lanes = lanes_;
    head_.sweep = sweep_;
    head_.split = cut_.split;
    head_.blocks = cut_.blocks;
    head_.splits = cut_.splits;
    head_.once = on_device<void>(allocate(pass_.once.total * bytes, "the parameters"));
    head_.columns = on_device<void>(allocate(even_columns() * pass_.sweep.total * bytes, "what depends on one axis"));
    if (pass_.lanes.any_wide()) head_.rows = on_device<void>(allocate(lanes_ * pass_.lanes.total * bytes, "what depends on one axis"));
  }

  void place_targets() {
    for (std::size_t k = 0; k < pass_.share.outputs.size(); ++k) {
      const Output& o = output(k);
      const std::int64_t numbers = kept_rows(o.keep, task_.schedule->sizes) * o.width * o.places;
      const Results results = row(o.red).results;
      gpu::Target target{nullptr, {nullptr, nullptr, 0}, nullptr};
      const RowNumbers& wanted = task_.results[static_cast<std::size_t>(pass_.share.outputs[k])].numbers;
      if (wanted.whole) target.numbers.whole = on_device<int>(allocate(numbers * 4, "the results"));
      if (wanted.wide) target.numbers.wide = on_device<double>(allocate(numbers * 8, "the results"));
      target.numbers.none = wanted.none;
      if (results != Results::index) target.values = on_device<double>(allocate(numbers * 8, "the results"));
      const std::int64_t states = o.keep == Keep::none ? std::max<std::int64_t>(1, cut_.blocks) * cut_.splits * pass_.shape.threads
                                : o.keep == Keep::both || cut_.splits == 1 ? 0 : cut_.splits * std::min(lanes_, rows_of(cut_.chunk));
      if (states > 0) target.states = on_device<void>(allocate(states * o.width * state_bytes(o), "sums of parts"));
      targets_.push_back(target);
    }
  }

  // As the kernels expect them: kernweave::gpu::Arguments.
  std::vector<char> arguments() const {
    std::vector<char> bytes;
    const auto add = [&](const void* from, std::size_t size) {
      bytes.insert(bytes.end(), static_cast<const char*>(from), static_cast<const char*>(from) + size);
    };
    add(&head_, sizeof head_);
    add(data_.data(), data_.size() * sizeof(gpu::Data));
    add(targets_.data(), targets_.size() * sizeof(gpu::Target));
    return bytes;
  }

  void launch(const char* name, std::int64_t blocks, std::int64_t splits, unsigned threads, std::int64_t shared_bytes) {
    const Function function = kernels_.find(name);
    internal_check(function != nullptr, "no kernel ", name);
    device_.launch(function, static_cast<unsigned>(blocks), static_cast<unsigned>(splits), threads, static_cast<unsigned>(shared_bytes), arguments());
  }

  void launch_points(const char* name, std::int64_t points) {
    if (points > 0) launch(name, ceiling(points, kPointThreads), 1, kPointThreads, 0);
  }

  // Rows whose states fit into memory together, from a block on: all splits, then the states of each row in order.
  void sweep_chunk(std::int64_t block) {
    const std::int64_t blocks = std::min(cut_.chunk, cut_.blocks - block);
    head_.first_row = rows_of(block);
    head_.rows_here = std::min<std::int64_t>(lanes_ - head_.first_row, rows_of(blocks));
    // Slices change no result: a block finds the same in any launch.
    const std::int64_t some_blocks = std::min(blocks, cut_.of_launch);
    const std::int64_t some_splits = std::max<std::int64_t>(1, std::min({cut_.splits, cut_.of_launch / some_blocks, kMostSplits}));
    for (head_.first_split = 0; head_.first_split < cut_.splits; head_.first_split += some_splits)
      for (head_.first_block = block; head_.first_block < block + blocks; head_.first_block += some_blocks)
        launch_slice(std::min<std::int64_t>(some_blocks, block + blocks - head_.first_block),
                     std::min<std::int64_t>(some_splits, cut_.splits - head_.first_split));
    if (cut_.splits > 1) launch_points("merge", head_.rows_here);
  }

  void launch_slice(std::int64_t blocks, std::int64_t splits) {
    launch("sweep", blocks, splits, static_cast<unsigned>(pass_.shape.threads), pass_.shared_bytes());
    done_ += blocks * splits;
    const std::int64_t all = cut_.blocks * cut_.splits;
    if (all > cut_.of_launch) wait(static_cast<double>(done_) / static_cast<double>(all));
  }

  void wait(double share) {
    device_.wait();
    task_.poll(share);
  }

  void fetch() {
    for (std::size_t k = 0; k < pass_.share.outputs.size(); ++k) {
      const Output& o = output(k);
      const Result& to = task_.results[static_cast<std::size_t>(pass_.share.outputs[k])];
      const std::size_t numbers = static_cast<std::size_t>(kept_rows(o.keep, task_.schedule->sizes) * o.width * o.places);
      const auto address = [](const void* at) { return static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(at)); };
      const gpu::Target& from = targets_[k];
      if (from.values) device_.download(to.values, address(from.values), numbers * sizeof(double));
      if (from.numbers.whole) device_.download(to.numbers.whole, address(from.numbers.whole), numbers * sizeof(int));
      if (from.numbers.wide) device_.download(to.numbers.wide, address(from.numbers.wide), numbers * sizeof(double));
    }
  }

  const Pass& pass_;
  const Task& task_;
  Device& device_;
  const std::int64_t lanes_, sweep_;
  const Cut cut_;
  const Kernels& kernels_;
  gpu::Head head_{};
  std::vector<gpu::Data> data_;
  std::vector<gpu::Target> targets_;
  std::vector<Block> blocks_;
  Block small_;
  std::size_t staged_ = 0;
  std::int64_t done_ = 0;  // blocks times splits
};

}  // namespace

void run_pass(const Pass& pass, const Task& task, double seconds, Device* device) {
  try {
    PassJob(pass, task, seconds, device).run();
  } catch (...) {
    // What has been launched may still read memory that is about to serve others.
    driver().cuCtxSynchronize();
    throw;
  }
}

}  // namespace cuda
}  // namespace kernweave
