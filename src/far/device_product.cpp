// Level by level, as on the host (product.cpp).
#include "far/device_product.hpp"

#include "far/device_level.hpp"

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
  const int components_, summands_;  // of the formula, and what each is the sum of
  const DevicePoints<D> targets_;
  std::unique_ptr<const DevicePoints<D>> sources_;  // null where they are the targets
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

}  // namespace far
}  // namespace kernweave
