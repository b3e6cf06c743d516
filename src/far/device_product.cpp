// Computes the far part of a product on a GPU, level by level, as on the host (product.cpp); has kernels and sorting.
#include "far/device_product.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "device/copy.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {
namespace {

using gpu::FarTask;

template <int D>
class LevelwiseDeviceProduct : public DeviceProduct {
 public:
  LevelwiseDeviceProduct(Device* device, const Levels<D>& plan, const TreePair<D>& trees,
                         const FormFactors& form, const arrays::Workers& workers)
      : device_(device),
        spread_(Spread::of(form.power, D)),
        components_(form.adds_up ? 1 : form.components),
        summands_(form.components / components_),
        targets_(device, trees.targets, form.of_rows),
        of_components_(sent(device, form.of_components)) {
    if (&trees.targets != &trees.sources || form.of_rows != form.of_columns)
      sources_ = std::make_unique<DevicePoints<D>>(device, trees.sources, form.of_columns);
    std::int64_t moments = 0, locals = 0, parts = 0, waiting = 0;
    for (std::size_t l = 0; l < plan.levels.size(); ++l) {
      if (!plan.levels[l].terms.any()) continue;
      levels_.push_back(
          std::make_unique<DeviceLevel<D>>(device, plan.levels[l], trees, l, form.power, workers));
      const DeviceLevel<D>& level = *levels_.back();
      moments = std::max(moments, level.moments());
      locals = std::max(locals, level.locals());
      parts = std::max(parts, level.parts());
      waiting = std::max(waiting, level.waiting());
    }
    buffers_ = {room_for(device, moments), room_for(device, locals), room_for(device, parts),
                room_for(device, waiting)};
    not_finite_ = room_for(device, 1);
    weights_ = room_for(device, form.of_columns.empty() ? 0 : trees.sources.size());
  }

  bool sort(bool of_rows, const double* numbers, int columns, double* sorted, bool ask) override {
    int not_finite = 0;
    device_->enter();
    if (ask) device_->upload(not_finite_.at(), &not_finite, sizeof not_finite);
    FarTask task = numbers_of(of_rows ? targets_ : from(), columns);
    task.weights = numbers;
    task.sums = sorted;
    task.not_finite = ask ? pointer_to<int>(not_finite_) : nullptr;
    each_number("far_sorted", task);
    if (ask) device_->download(&not_finite, not_finite_.at(), sizeof not_finite);
    return not_finite == 0;
  }

  int sums() const override { return spread_.components; }

  void multiply(const double* sorted, int columns, double* sums) override {
    const std::int64_t rows = targets_.count;
    FarTask task = numbers_of(targets_, columns * spread_.components);
    task.sums = sums;
    each_number("far_cleared", task);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double* const weights = with_factors(sorted + c * from().count);
      for (const auto& level : levels_)
        level->add(targets_, from(), weights, sums + c * spread_.components * rows, buffers_);
    }
  }

  void put_back(const double* sums, const double* near, int columns, double* out) override {
    FarTask task = numbers_of(targets_, columns * components_);
    task.spread = spread_;
    task.components = components_;
    task.summands = summands_;
    task.of_components = pointer_to<double>(of_components_);
    task.weights = sums;
    task.factors = targets_.factors ? pointer_to<double>(targets_.factors) : nullptr;
    task.factors_behind = targets_.factors_behind;
    task.more = near;
    task.sums = out;
    each_number("far_put_back", task);
  }

 private:
  const DevicePoints<D>& from() const { return sources_ ? *sources_ : targets_; }

  static FarTask numbers_of(const DevicePoints<D>& points, int columns) {
    FarTask task{};
    task.rows = points.count;
    task.count = points.count * std::int64_t{columns};
    task.order = pointer_to<int>(points.lie->order);
    return task;
  }
  void each_number(const char* kernel, const FarTask& task) {
    device_->enter();
    launch(device_, D, kernel, {(task.count + gpu::kFarThreads - 1) / gpu::kFarThreads}, task);
  }
  const double* with_factors(const double* weights) {
    if (!from().factors) return weights;
    FarTask task = numbers_of(from(), 1);
    task.weights = weights;
    task.factors = pointer_to<double>(from().factors);
    task.sums = pointer_to<double>(weights_);
    each_number("far_scaled", task);
    return task.sums;
  }

  Device* const device_;
  const Spread spread_;
  const int components_, summands_;  // components of the formula, and summands of each
  const DevicePoints<D> targets_;
  std::unique_ptr<const DevicePoints<D>> sources_;  // null if the sources are the targets
  std::vector<std::unique_ptr<DeviceLevel<D>>> levels_;
  ExpansionBuffers buffers_;
  Block of_components_, weights_, not_finite_;
};

}  // namespace

template <int D>
std::unique_ptr<DeviceProduct> product_on(Device* device, const Levels<D>& plan, const TreePair<D>& trees,
                                          const FormFactors& form, const arrays::Workers& workers) {
  device->enter();
  return std::make_unique<LevelwiseDeviceProduct<D>>(device, plan, trees, form, workers);
}

template std::unique_ptr<DeviceProduct> product_on(Device*, const Levels<1>&, const TreePair<1>&, const FormFactors&,
                                                   const arrays::Workers&);
template std::unique_ptr<DeviceProduct> product_on(Device*, const Levels<2>&, const TreePair<2>&, const FormFactors&,
                                                   const arrays::Workers&);
template std::unique_ptr<DeviceProduct> product_on(Device*, const Levels<3>&, const TreePair<3>&, const FormFactors&,
                                                   const arrays::Workers&);

// --- kernels --------------------------------------------------------------------------------------------------------
// Each number of components has one source text, compiled once for a device and kept with the kernels of formulas.

namespace {

constexpr int kGivenShared = 48 * 1024;  // the bytes that a block of threads has without a request

std::string written(int components) {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/far.hpp\"\n#include \"kernweave/gpu/morton.hpp\"\n";
  const auto kernel = [&](const char* task, const char* name, int threads, bool of_points) {
    out << "extern \"C\" __global__ void __launch_bounds__(" << threads << ") " << name << "(const kernweave::gpu::"
        << task << "Task t) { kernweave::gpu::" << name;
    if (of_points) out << "<" << components << ">";
    out << "(t); }\n";
  };
  for (const char* name :
       {"far_added", "far_apply", "far_collected", "far_cleared", "far_sorted", "far_scaled", "far_put_back"})
    kernel("Far", name, gpu::kFarThreads, false);
  kernel("Far", "far_moments", gpu::kFarThreads, true);
  kernel("Far", "far_evaluated", gpu::kFarEvaluated, true);
  for (const char* name : {"morton_count", "morton_move"}) kernel("Morton", name, gpu::kMortonThreads, false);
  kernel("Morton", "morton_places", gpu::kMortonScan, false);
  for (const char* name : {"morton_keys", "morton_components", "morton_ends"})
    kernel("Morton", name, gpu::kMortonThreads, true);
  return out.str();
}

}  // namespace

const std::string& kernels_text(int components) {
  static const std::string texts[] = {written(1), written(2), written(3)};
  return texts[components - 1];
}

void launch(device::Device* device, int components, const char* kernel, const Grid& grid,
            const std::vector<char>& task) {
  if (grid.blocks == 0) return;
  const std::shared_ptr<const device::Kernels> kernels = device->kernels(kernels_text(components));
  const device::Function function = kernels->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  if (grid.shared_bytes > kGivenShared) kernels->allow_shared(kernel, static_cast<int>(grid.shared_bytes));
  device->launch(function, static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.slots), 1,
                 static_cast<unsigned>(grid.threads), static_cast<unsigned>(grid.shared_bytes), task);
}

// --- Morton order ---------------------------------------------------------------------------------------------------
// A radix sort of Morton keys, from the lowest bits on; the host downloads results when they are asked for.

namespace {

using device::address;
using device::Block;
using device::Device;
using gpu::MortonTask;

constexpr const char* kWhat = "points in order";
static_assert(sizeof(Range) == 2 * sizeof(*MortonTask::boxes), "boxes are sent as they lie");

std::int64_t blocks_for(std::int64_t threads) { return (threads + gpu::kMortonThreads - 1) / gpu::kMortonThreads; }

template <int D>
class DeviceMortonOrder : public MortonOrder<D> {
 public:
  DeviceMortonOrder(const Points& points, const Cube<D>& cube, Device* device)
      : points_(std::make_shared<SortedDevicePoints>()) {
    this->size_ = this->inside_ = static_cast<int>(points.size() / D);
    device->enter();
    points_->device = device;
    const bool are_there = has_copy(points.data(), *device);
    const Block sent = are_there ? Block() : room<double>(D);
    if (!are_there) device->upload(sent.at(), points.begin(), points.size() * sizeof(double));
    MortonTask task{};
    task.points = this->size_;
    task.halvings = MortonOrder<D>::kHalvings;
    task.numbers = address<double>(are_there ? kept_copy(points.data(), device) : sent.at());
    if (are_there) task.numbers += points.component() * points.data().rows;
    std::copy(cube.least.begin(), cube.least.end(), task.least);
    task.width = cube.width;
    sort(task);
    points_->components = room<double>(D);
    task.order = address<int>(points_->order.at());
    task.components = address<double>(points_->components.at());
    launch_over(this->size_, "morton_components", task);
  }

  std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                 const arrays::Workers&) const override {
    std::vector<int> ends(boxes.size() << D);
    if (boxes.empty()) return ends;
    Device* const device = points_->device;
    device->enter();
    const std::size_t bytes = boxes.size() * sizeof(Range), of_ends = ends.size() * sizeof(int);
    const Block memory = device->allocate(bytes + of_ends, kWhat);
    device->upload(memory.at(), boxes.data(), bytes);
    MortonTask task{};
    task.keys = address<unsigned long long>(keys_.at());
    task.boxes = address<long long>(memory.at());
    task.box_count = static_cast<int>(boxes.size());
    task.behind = D * (MortonOrder<D>::kHalvings - 1 - level);
    task.ends = address<int>(memory.at() + bytes);
    launch_over(static_cast<std::int64_t>(ends.size()), "morton_ends", task);
    device->download(ends.data(), memory.at() + bytes, of_ends);
    return ends;
  }
  void forget_keys() override { keys_ = {}; }

  const Fresh<int>& order() const override {
    if (order_.empty()) {
      order_.resize(count());
      points_->device->enter();
      points_->device->download(order_.data(), points_->order.at(), count() * sizeof(int));
    }
    return order_;
  }
  const std::array<Fresh<double>, D>& components() const override {
    const std::size_t bytes = count() * sizeof(double);
    for (std::size_t d = 0; d < D && components_[d].empty(); ++d) {
      components_[d].resize(count() + MortonOrder<D>::kBehind);
      points_->device->enter();
      points_->device->download(components_[d].data(), points_->components.at() + d * bytes, bytes);
      std::fill(components_[d].end() - MortonOrder<D>::kBehind, components_[d].end(), components_[d][count() - 1]);
    }
    return components_;
  }
  std::shared_ptr<const SortedDevicePoints> on(Device* device) const override {
    return device == points_->device ? points_ : MortonOrder<D>::on(device);
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(this->size_); }
  template <class Item>
  Block room(std::size_t each) const {
    return points_->device->allocate(each * count() * sizeof(Item), kWhat);
  }
  void launch_over(std::int64_t threads, const char* kernel, const MortonTask& task) const {
    launch(points_->device, D, kernel, {blocks_for(threads), 1, gpu::kMortonThreads}, task);
  }

  void sort(MortonTask task) {
    Block keys = room<unsigned long long>(1), order = room<int>(1);
    keys_ = room<unsigned long long>(1);
    points_->order = room<int>(1);
    task.keys_to = address<unsigned long long>(keys_.at());
    task.order_to = address<int>(points_->order.at());
    launch_over(this->size_, "morton_keys", task);
    task.tiles = (this->size_ + gpu::kMortonTile - 1) / gpu::kMortonTile;
    const Block counts = points_->device->allocate(
        static_cast<std::size_t>(task.tiles) * gpu::kMortonDigits * sizeof(int), kWhat);
    task.counts = address<int>(counts.at());
    for (task.shift = 0; task.shift < D * MortonOrder<D>::kHalvings; task.shift += gpu::kMortonBits) {
      std::swap(keys, keys_);
      std::swap(order, points_->order);
      task.keys = address<unsigned long long>(keys.at());
      task.order = address<int>(order.at());
      task.keys_to = address<unsigned long long>(keys_.at());
      task.order_to = address<int>(points_->order.at());
      launch(points_->device, D, "morton_count", {task.tiles, 1, gpu::kMortonThreads}, task);
      launch(points_->device, D, "morton_places", {1, 1, gpu::kMortonScan}, task);
      launch(points_->device, D, "morton_move", {task.tiles, 1, gpu::kMortonThreads}, task);
    }
  }

  const std::shared_ptr<SortedDevicePoints> points_;
  Block keys_;
  mutable Fresh<int> order_;  // the order and the components are downloaded when first asked for
  mutable std::array<Fresh<double>, D> components_;
};

}  // namespace

template <int D>
std::unique_ptr<MortonOrder<D>> device_morton_order(const Points& points, const Cube<D>& cube, Device* device) {
  return std::make_unique<DeviceMortonOrder<D>>(points, cube, device);
}

template std::unique_ptr<MortonOrder<1>> device_morton_order(const Points&, const Cube<1>&, Device*);
template std::unique_ptr<MortonOrder<2>> device_morton_order(const Points&, const Cube<2>&, Device*);
template std::unique_ptr<MortonOrder<3>> device_morton_order(const Points&, const Cube<3>&, Device*);

}  // namespace far
}  // namespace kernweave
