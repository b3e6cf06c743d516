// Lays out what the kernels read and write, and launches them in slices that leave time to ask for an interrupt.
#include "cuda/job.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "cuda/cut.hpp"
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

// Numbers that stay on the device for as long as somebody keeps them.
class Stay : public Copy {
 public:
  Stay(Device* device, Block block) : device_(device), block_(std::move(block)) {}
  void fetch(void* to, std::size_t bytes) const override {
    user_check(!opened_by_parent(), Fault::no_device, "numbers on a GPU cannot be fetched in a forked process; look at them before forking");
    device_->enter();
    device_->download(to, block_.at(), bytes);
  }
  Pointer at() const { return block_.at(); }

 private:
  Device* device_;
  Block block_;
};

class PassJob {
 public:
  PassJob(const Pass& pass, const Code& code, const Task& task, double seconds, Device* device)
      : pass_(pass), code_(code), task_(task), device_(*device),
        lanes_(pass.share.along_i ? task.schedule->sizes.i : task.schedule->sizes.j),
        sweep_(pass.share.along_i ? task.schedule->sizes.j : task.schedule->sizes.i),
        cut_(cut(pass, lanes_, sweep_, device->processors(), seconds)),
        kernels_(pass.interpreted() ? device->ahead_kernels(ahead_image(pass.float32), static_cast<int>(pass.shared_bytes()))
                                    : device->kernels(code.source, static_cast<int>(pass.shared_bytes()))) {}

  bool run() {
    place_numbers();
    place_data();
    place_panels();
    place_halves();
    place_targets();
    if (pass_.interpreted()) place_script();
    launch_points("once", 1);
    launch_points("columns", padded(sweep_));
    if (pass_.stores_rows()) launch_points("rows", lanes_);
    if (pass_.product.any()) {
      launch_points("packed_rows", padded_rows());
      launch_points("packed_columns", padded(sweep_));
    }
    if (pass_.wide.any()) launch_points("packed_weights", padded(sweep_) / pass_.shape.padding * pass_.wide.padded_width());
    for (std::int64_t block = 0; block < cut_.blocks; block += cut_.chunk) sweep_chunk(block);
    if (pass_.folds_all()) launch("total", 1, 1, static_cast<unsigned>(pass_.shape.threads), 0);
    if (pass_.by_tiles() && lost()) return false;
    fetch();
    return true;
  }

 private:
  std::int64_t rows_of(std::int64_t blocks) const { return blocks * pass_.shape.block_rows; }
  // Strips and tiles come out even (kernweave/gpu/sweep.hpp).
  std::int64_t padded(std::int64_t points) const { return ceiling(points, pass_.shape.padding) * pass_.shape.padding; }

  // States of the same row that wait to be merged.
  std::int64_t parts() const { return cut_.splits * pass_.shape.parts; }

  std::int64_t padded_rows() const { return rows_of(ceiling(lanes_, pass_.shape.block_rows)); }

  const Output& output(std::size_t k) const { return pass_.variant->outputs[pass_.share.outputs[k]]; }
  const Result& result(std::size_t k) const { return task_.results[static_cast<std::size_t>(pass_.share.outputs[k])]; }

  Pointer allocate(std::int64_t bytes, const char* what, Block* block) {
    *block = device_.allocate(static_cast<std::size_t>(bytes), what);
    return block->at();
  }
  Pointer allocate(std::int64_t bytes, const char* what) {
    blocks_.emplace_back();
    return allocate(bytes, what, &blocks_.back());
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
    const double none = 0;
    lost_ = stage(&none, 1);
    head_.lost = on_device<int>(lost_);
  }

  bool lost() {
    int lost = 0;
    device_.download(&lost, lost_, sizeof lost);
    return lost != 0;
  }

  // Data with an owner are sent once.
  Pointer kept(const View& view) {
    std::map<int, std::unique_ptr<Copy>>& copies = view.kept->copies;
    auto at = copies.find(device_.number());
    if (at == copies.end()) at = copies.emplace(device_.number(), view.data ? sent_to_stay(view, &device_) : sent_on(view)).first;
    return static_cast<Stay&>(*at->second).at();
  }

  // From another device, by way of the host.
  std::unique_ptr<Copy> sent_on(const View& view) {
    std::vector<double> numbers(static_cast<std::size_t>(view.rows * view.columns));
    internal_check(!view.kept->copies.empty(), "data that are nowhere");
    view.kept->copies.begin()->second->fetch(numbers.data(), numbers.size() * sizeof(double));
    device_.enter();
    return sent_to_stay({numbers.data(), view.rows, view.columns}, &device_);
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
      gpu::Data data{view.data || view.kept ? on_device<double>(sent(view)) : nullptr, nullptr, view.rows};
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
    head_.columns = on_device<void>(allocate(padded(sweep_) * pass_.sweep.total * bytes, "what depends on one axis"));
    if (pass_.stores_rows()) head_.rows = on_device<void>(allocate(lanes_ * pass_.lanes.total * bytes, "what depends on one axis"));
  }

  // Two halves are as long as the number.
  void place_halves() {
    constexpr std::int64_t bytes = sizeof(float);
    const char* what = "what depends on one axis";
    if (pass_.product.any()) {
      const int width = pass_.product.padded_width();
      head_.row_halves = on_device<void>(allocate(padded_rows() * width * bytes, what));
      head_.row_scales = on_device<float>(allocate(padded_rows() * bytes, what));
      head_.column_halves = on_device<void>(allocate(padded(sweep_) * width * bytes, what));
      head_.column_scales = on_device<float>(allocate(padded(sweep_) * bytes, what));
    }
    if (!pass_.wide.any()) return;
    const int width = pass_.wide.padded_width();
    head_.weight_halves = on_device<void>(allocate(padded(sweep_) * width * bytes, what));
    head_.weight_scales = on_device<float>(allocate(padded(sweep_) / pass_.shape.padding * width * bytes, what));
  }

  void place_targets() {
    for (std::size_t k = 0; k < pass_.share.outputs.size(); ++k) {
      const Output& o = output(k);
      const std::int64_t numbers = kept_rows(o.keep, task_.schedule->sizes) * o.width * o.places;
      const Results results = row(o.red).results;
      gpu::Target target{nullptr, {nullptr, nullptr, 0}, nullptr};
      const Result& to = result(k);
      Found found;
      if (to.numbers.whole || to.numbers_stay) target.numbers.whole = on_device<int>(allocate(numbers * 4, "the results", &found.numbers));
      if (to.numbers.wide) target.numbers.wide = on_device<double>(allocate(numbers * 8, "the results", &found.numbers));
      target.numbers.none = to.numbers.none;
      if (results != Results::index) target.values = on_device<double>(allocate(numbers * 8, "the results", &found.values));
      found_.push_back(std::move(found));
      const std::int64_t states = o.keep == Keep::none ? std::max<std::int64_t>(1, cut_.blocks) * cut_.splits * pass_.shape.threads
                                : o.keep == Keep::both || parts() == 1 ? 0 : parts() * std::min(lanes_, rows_of(cut_.chunk));
      if (states > 0) target.states = on_device<void>(allocate(states * o.width * state_bytes(o), "sums of parts"));
      targets_.push_back(target);
    }
  }

  void place_script() {
    const Packed packed(code_.interpretation, data_, targets_);
    const Pointer at = allocate(static_cast<std::int64_t>(packed.bytes.size()), "the script");
    device_.upload(at, packed.bytes.data(), packed.bytes.size());
    script_ = packed.script(at);
    script_.column_stride = padded(sweep_);
  }

  // As the kernels expect them: kernweave::gpu::Arguments, or kernweave::gpu::Script.
  std::vector<char> arguments() const {
    std::vector<char> bytes;
    const auto add = [&](const void* from, std::size_t size) {
      bytes.insert(bytes.end(), static_cast<const char*>(from), static_cast<const char*>(from) + size);
    };
    if (pass_.interpreted()) {
      gpu::Script script = script_;
      script.head = head_;
      add(&script, sizeof script);
      return bytes;
    }
    add(&head_, sizeof head_);
    add(data_.data(), data_.size() * sizeof(gpu::Data));
    add(targets_.data(), targets_.size() * sizeof(gpu::Target));
    return bytes;
  }

  void launch(const char* name, std::int64_t blocks, std::int64_t splits, unsigned threads, std::int64_t shared_bytes, int shares = 1) {
    const Function function = kernels_.find(name);
    internal_check(function != nullptr, "no kernel ", name);
    device_.launch(function, static_cast<unsigned>(blocks), static_cast<unsigned>(splits), static_cast<unsigned>(shares), threads,
                   static_cast<unsigned>(shared_bytes), arguments());
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
    if (parts() > 1) launch_points("merge", head_.rows_here);
  }

  void launch_slice(std::int64_t blocks, std::int64_t splits) {
    launch("sweep", blocks, splits, static_cast<unsigned>(pass_.shape.threads), pass_.shared_bytes(), pass_.wide.shares);
    done_ += blocks * splits;
    const std::int64_t all = cut_.blocks * cut_.splits;
    if (all > cut_.of_launch) wait(static_cast<double>(done_) / static_cast<double>(all));
  }

  void wait(double share) {
    device_.wait();
    task_.poll(share);
  }

  // Memory in which an output's results lie.
  struct Found {
    Block values, numbers;
  };

  void fetch() {
    for (std::size_t k = 0; k < pass_.share.outputs.size(); ++k) {
      const Output& o = output(k);
      const Result& to = result(k);
      const std::size_t numbers = static_cast<std::size_t>(kept_rows(o.keep, task_.schedule->sizes) * o.width * o.places);
      hand_over(&found_[k].values, numbers * sizeof(double), to.values, to.values_stay);
      if (to.numbers.wide) hand_over(&found_[k].numbers, numbers * sizeof(double), to.numbers.wide, nullptr);
      else hand_over(&found_[k].numbers, numbers * sizeof(int), to.numbers.whole, to.numbers_stay);
    }
    device_.wait();
  }

  void hand_over(Block* block, std::size_t bytes, void* host, Kept* stay) {
    if (host) device_.download(host, block->at(), bytes);
    else if (stay) stay->copies[device_.number()] = std::make_unique<Stay>(&device_, std::move(*block));
  }

  const Pass& pass_;
  const Code& code_;
  const Task& task_;
  Device& device_;
  const std::int64_t lanes_, sweep_;
  const Cut cut_;
  const Kernels& kernels_;
  gpu::Head head_{};
  gpu::Script script_{};
  std::vector<gpu::Data> data_;
  std::vector<gpu::Target> targets_;
  std::vector<Found> found_;
  std::vector<Block> blocks_;
  Block small_;
  Pointer lost_ = 0;
  std::size_t staged_ = 0;
  std::int64_t done_ = 0;  // blocks times splits
};

}  // namespace

std::unique_ptr<Copy> sent_to_stay(const View& view, Device* device) {
  const std::size_t bytes = static_cast<std::size_t>(view.rows * view.columns) * sizeof(double);
  Block block = device->allocate(bytes, "the data");
  device->upload(block.at(), view.data, bytes);
  device->wait();
  return std::make_unique<Stay>(device, std::move(block));
}

bool run_pass(const Pass& pass, const Code& code, const Task& task, double seconds, Device* device) {
  try {
    return PassJob(pass, code, task, seconds, device).run();
  } catch (...) {
    // What has been launched may still read memory that is about to serve others.
    driver().cuCtxSynchronize();
    throw;
  }
}

}  // namespace cuda
}  // namespace kernweave
