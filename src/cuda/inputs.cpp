// Uploads. Data that are read at row numbers are there whole; of others, what the window's points need.
#include "cuda/inputs.hpp"

#include <algorithm>
#include <cstring>

#include "base/view.hpp"

namespace kernweave {
namespace cuda {
namespace {

constexpr std::int64_t kSmall = 1 << 14;  // numbers that go by way of Staging

}  // namespace

Staging::Staging(device::Device* device)
    : device_(*device), block_(device->allocate(device::Device::kStagingBytes, "the data")) {}

device::Pointer Staging::put(const double* from, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
  if (used_ + bytes > device::Device::kStagingBytes) {
    large_.push_back(device_.allocate(bytes, "the data"));
    device_.upload(large_.back().at(), from, bytes);
    return large_.back().at();
  }
  std::memcpy(device_.staging() + used_, from, bytes);
  used_ += bytes;
  return block_.at() + used_ - bytes;
}

void Staging::send() {
  device_.upload(block_.at() + sent_, device_.staging() + sent_, used_ - sent_);
  sent_ = used_;
}

DeviceInputs::DeviceInputs(const Pass& pass, const Task& task, device::Device* device, Staging* staging)
    : pass_(pass), task_(nullptr), device_(*device), staging_(*staging), loaded_(task.data.size()) {
  for (std::size_t v = 0; v < loaded_.size(); ++v) loaded_[v].reach = reach_of(static_cast<int>(v));
  take(task);
}

void DeviceInputs::take(const Task& task) {
  task_ = &task;
  data.clear();
  for (std::size_t v = 0; v < loaded_.size(); ++v) {
    loaded_[v].rows = loaded_[v].columns = {-1, -1};
    data.push_back({nullptr, nullptr, task.data[v].rows});
    const std::vector<double>& centre = task.centres[v];
    if (!centre.empty())
      data[v].centre = device::address<double>(staging_.put(centre.data(), static_cast<std::int64_t>(centre.size())));
  }
}

DeviceInputs::InputReach DeviceInputs::reach_of(int variable) const {
  for (const Step& step : pass_.program().steps)
    if (step.op == Op::Gather && step.in[0].index == variable) return InputReach::all;
  const bool along_i = pass_.group.along_i;
  switch (pass_.plan->variables[static_cast<std::size_t>(variable)].axis) {
    case Axis::i: return along_i ? InputReach::lanes : InputReach::sweep;
    case Axis::j: return along_i ? InputReach::sweep : InputReach::lanes;
    case Axis::param: return InputReach::all;
    case Axis::pair:
    case Axis::pair_swapped: return InputReach::pairs;
  }
  return InputReach::all;
}

// Tells whether the data are used where they lie: a device has a copy of all, or they are not in the host's memory.
bool DeviceInputs::stays(std::size_t v) const {
  return device::has_copy(task_->data[v], device_) || !task_->data[v].data;
}

void DeviceInputs::count(Needs* needs) const {
  for (std::size_t v = 0; v < loaded_.size(); ++v) {
    const View& view = task_->data[v];
    if (device::has_copy(view, device_) || !(view.data || view.kept)) continue;
    // For several runs, kept data are sent as one; in a batched pass each run has its share.
    if (!pass_.batched) needs->fixed += static_cast<double>(view.numbers() - view.rows * view.columns) * 8;
    if (view.apart != 0) {
      needs->fixed += static_cast<double>(view.numbers()) * 8;
      continue;
    }
    const double numbers = static_cast<double>(view.rows) * static_cast<double>(view.columns),
                 of_point = static_cast<double>(view.columns) * 8;
    if (loaded_[v].reach == InputReach::all || !view.data) needs->fixed += numbers * 8;
    else if (loaded_[v].reach == InputReach::lanes) needs->lane += of_point;
    else if (loaded_[v].reach == InputReach::sweep) needs->sweep += of_point;
    else needs->pair += 8;
  }
}

void DeviceInputs::place(const Range& lanes, const Range& sweep, bool whole) {
  for (std::size_t v = 0; v < loaded_.size(); ++v) {
    const View& view = task_->data[v];
    if (!view.data && !view.kept) continue;
    const InputReach reach = loaded_[v].reach;
    if (view.apart != 0) {
      bring_all(v);
      continue;
    }
    if ((whole && view.kept) || stays(v))
      data[v] = {device::address<double>(device::kept_copy(view, &device_)), data[v].centre, view.rows};
    else if (pass_.batched && view.all > 0) bring_all(v);
    else if (reach == InputReach::all) bring(v, {0, view.rows}, {0, view.columns});
    else if (reach != InputReach::pairs) bring(v, reach == InputReach::lanes ? lanes : sweep, {0, view.columns});
    else if ((pass_.plan->variables[v].axis == Axis::pair) == pass_.group.along_i) bring(v, lanes, sweep);
    else bring(v, sweep, lanes);
  }
}

std::vector<gpu::Data> DeviceInputs::data_of(std::int64_t run) const {
  std::vector<gpu::Data> moved = data;
  const Task* const tasks = task_;
  for (std::size_t v = 0; v < moved.size(); ++v)
    if (moved[v].at) moved[v].at += tasks[run].data[v].before - task_->data[v].before;
  return moved;
}

// Uploads the matrices of all runs, or the vector behind a window.
void DeviceInputs::bring_all(std::size_t v) {
  const View& view = task_->data[v];
  const std::size_t bytes = static_cast<std::size_t>(view.numbers()) * sizeof(double);
  data[v].rows = view.step();
  if (loaded_[v].rows == Range{0, view.rows}) return;
  loaded_[v].rows = {0, view.rows};
  device_.make_room(&loaded_[v].block, bytes, "the data");
  device_.upload(loaded_[v].block.at(), view.data - view.before, bytes);
  data[v].at = device::address<double>(loaded_[v].block.at()) + view.before + view.first();
}

// Uploads rows of some columns. The pointer is to where row 0 of column 0 would be, so kernels count from the first.
void DeviceInputs::bring(std::size_t v, const Range& rows, const Range& columns) {
  Loaded& loaded = loaded_[v];
  if (loaded.rows == rows && loaded.columns == columns) return;
  const View& view = task_->data[v];
  const std::int64_t numbers = rows.size() * columns.size();
  loaded.rows = rows;
  loaded.columns = columns;
  if (!view.sparse() && numbers == view.rows * view.columns && numbers <= kSmall) {
    data[v].at = device::address<double>(staging_.put(view.data, numbers));
    return;
  }
  device_.make_room(&loaded.block, static_cast<std::size_t>(numbers) * sizeof(double), "the data");
  const device::Pointer at = loaded.block.at();
  data[v].rows = rows.size();
  data[v].at = device::address<double>(at - static_cast<device::Pointer>(rows.from + columns.from * rows.size()) *
                                                sizeof(double));
  if (view.sparse()) return send_sparse(view, rows, columns, at);
  const bool together = rows.size() == view.rows;
  const std::int64_t pieces = together ? 1 : columns.size(), piece = numbers / std::max<std::int64_t>(1, pieces);
  for (std::int64_t c = 0; c < pieces; ++c)
    device_.upload(at + static_cast<device::Pointer>(c * piece) * sizeof(double),
                   view.data + rows.from + (columns.from + c) * view.rows,
                   static_cast<std::size_t>(piece) * sizeof(double));
}

// Uploads a sparse matrix with its zeros, as many columns at a time as the staging memory would hold.
void DeviceInputs::send_sparse(const View& view, const Range& rows, const Range& columns, device::Pointer to) {
  const std::int64_t together =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(device::Device::kStagingBytes / sizeof(double)) /
                                    std::max<std::int64_t>(1, rows.size()));
  std::vector<double> some;
  for (std::int64_t c = 0; c < columns.size(); c += together) {
    const std::int64_t count = std::min(together, columns.size() - c);
    some.resize(static_cast<std::size_t>(count * rows.size()));
    for (std::int64_t k = 0; k < count; ++k)
      write_column(view, columns.from + c + k, rows.from, rows.size(), some.data() + k * rows.size());
    device_.upload(to + static_cast<device::Pointer>(c * rows.size()) * sizeof(double), some.data(),
                   some.size() * sizeof(double));
    device_.wait();
  }
}

}  // namespace cuda
}  // namespace kernweave
