// Uploads, memory and downloads. Data that are read by row numbers are uploaded whole, other data for the points of a
// window. Results that stay on the device have memory for all points, others for the points of a window.
#include "cuda/data.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/view.hpp"

namespace kernweave {
namespace cuda {
namespace {

constexpr std::int64_t kSmall = 1 << 14;  // the most numbers of data that go through Staging

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

// Tells whether the data are used in place: the device has a copy of all data, or the host's memory has none.
bool DeviceInputs::stays(std::size_t v) const {
  return device::has_copy(task_->data[v], device_) || !task_->data[v].data;
}

void DeviceInputs::count(Needs* needs) const {
  for (std::size_t v = 0; v < loaded_.size(); ++v) {
    const View& view = task_->data[v];
    if (device::has_copy(view, device_) || !(view.data || view.kept)) continue;
    // Data of several runs are sent together; the needs of a batched pass are those of one run.
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

// Uploads the matrices of all runs, or the vector that the columns of a view share.
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

// Uploads rows of some columns. The pointer is the address that row 0 of column 0 would have, for all kernels.
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

// --- results --------------------------------------------------------------------------------------------------------

namespace {

bool stays(const Result& r) { return r.values_stay || r.numbers_stay; }

}  // namespace

Outputs::Outputs(const Pass& pass, const Task& task, const SweepCut& cut, device::Device* device, std::int64_t runs)
    : targets(pass.group.outputs.size()),
      pass_(pass),
      task_(task),
      cut_(cut),
      device_(*device),
      all_(pass.all),
      runs_(runs),
      memory_(targets.size()) {}

void Outputs::count(Needs* needs) const {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const Output& o = output(k);
    const double numbers =
        static_cast<double>(o.width) * o.places * 8 * (row(o.red).results == Results::value_index ? 2 : 1);
    const double states = static_cast<double>(o.width) * static_cast<double>(state_bytes(pass_, o));
    if (o.keep == Keep::none) needs->fixed += static_cast<double>(cut_.blocks * cut_.splits * turns_) * states;
    else if (stays(result(k))) needs->fixed += numbers * static_cast<double>(kept_rows(o.keep, pass_.sizes()));
    else (o.keep == Keep::both ? needs->pair : needs->lane) += numbers;
    if (o.keep == pass_.lane_keep() && merges()) needs->lane += states;
  }
}

void Outputs::place(const InWindow& window) {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const Output& o = output(k);
    Memory& memory = memory_[k];
    const bool all = stays(result(k));
    memory.rows = o.keep == Keep::none ? Range{0, 1} : all ? Range{0, all_.lanes} : window.lanes;
    memory.columns = o.keep != Keep::both ? Range{0, 1} : all ? Range{0, all_.sweep} : window.sweep;
    targets[k].rows = memory.rows.size();
    targets[k].stride = targets[k].rows * memory.columns.size();
    place_results(o, result(k), &memory, &targets[k]);
    place_states(o, window, &memory, &targets[k]);
  }
}

void Outputs::place_results(const Output& o, const Result& to, Memory* memory, gpu::Target* target) {
  const std::int64_t numbers = target->stride * o.width * o.places,
                     first = memory->rows.from + memory->columns.from * target->rows;
  // If the results of several runs stay, they lie in the memory that the first run allocated.
  const auto room = [&](device::Block* block, Kept* stay, std::int64_t bytes) {
    const auto offset = static_cast<device::Pointer>((stay ? to.before : -first) * bytes);
    View kept;
    kept.kept = stay;
    if (stay && to.before > 0) return device::kept_copy(kept, &device_) + offset;
    const std::int64_t all = stay && to.all > 0 ? to.all : numbers * runs_;
    device_.make_room(block, static_cast<std::size_t>(all * bytes), "the results");
    return block->at() + offset;
  };
  memory->numbers_of_run = numbers;
  target->numbers = {nullptr, nullptr, to.numbers.none};
  if (to.numbers.whole || to.numbers_stay)
    target->numbers.whole = device::address<int>(room(&memory->numbers, to.numbers_stay, 4));
  if (to.numbers.wide) target->numbers.wide = device::address<double>(room(&memory->numbers, nullptr, 8));
  target->factor = to.factor;
  if (to.wants_values()) target->values = device::address<double>(room(&memory->values, to.values_stay, 8));
}

void Outputs::place_states(const Output& o, const InWindow& window, Memory* memory, gpu::Target* target) {
  const std::int64_t each = state_bytes(pass_, o);
  const auto room = [&](device::Block* block, std::int64_t count, std::int64_t* of_run) {
    *of_run = count * o.width * each;
    device_.make_room(block, static_cast<std::size_t>(*of_run * runs_), "sums of parts");
    return block->at();
  };
  const auto states = [&](std::int64_t count) {
    return device::address<void>(room(&memory->states, count, &memory->states_of_run));
  };
  const auto merged = [&](std::int64_t count) { return room(&memory->merged, count, &memory->merged_of_run); };
  if (o.keep == Keep::none) {
    target->states = states(window.blocks_of_launch * pass_.shape.threads);
    // For several turns, the states of each turn lie one after the other.
    const std::int64_t of_turn = std::max<std::int64_t>(1, cut_.blocks * cut_.splits);
    target->merged = device::address<void>(merged(of_turn * turns_) +
                                           static_cast<device::Pointer>(turn_ * of_turn * o.width * each));
  } else if (o.keep != Keep::both && merges()) {
    target->states = states(window.waiting_parts * window.waiting_rows);
    // The rows of a component are contiguous.
    if (window.sweep.size() < all_.sweep || turns_ > 1)
      target->merged = device::address<void>(merged(window.lanes.size()) -
                                             static_cast<device::Pointer>(window.lanes.from * each));
  }
}

void Outputs::place_totals() {
  for (std::size_t k = 0; k < targets.size(); ++k)
    if (output(k).keep == Keep::none) targets[k].merged = device::address<void>(memory_[k].merged.at());
}

std::vector<gpu::Target> Outputs::targets_of(std::int64_t run) const {
  std::vector<gpu::Target> moved = targets;
  const auto move = [run](auto* at, std::int64_t bytes) {
    if (*at) *at = reinterpret_cast<std::decay_t<decltype(*at)>>(reinterpret_cast<char*>(*at) + run * bytes);
  };
  for (std::size_t k = 0; k < moved.size(); ++k) {
    const Memory& memory = memory_[k];
    move(&moved[k].values, memory.numbers_of_run * 8);
    move(&moved[k].numbers.whole, memory.numbers_of_run * 4);
    move(&moved[k].numbers.wide, memory.numbers_of_run * 8);
    move(&moved[k].states, memory.states_of_run);
    move(&moved[k].merged, memory.merged_of_run);
  }
  return moved;
}

void Outputs::fetch(Keep keep) {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (output(k).keep != keep) continue;
    const Result& to = result(k);
    if (to.values) fetch_from(memory_[k].values, 8, reinterpret_cast<char*>(to.values), k);
    if (to.numbers.wide) fetch_from(memory_[k].numbers, 8, reinterpret_cast<char*>(to.numbers.wide), k);
    else if (to.numbers.whole) fetch_from(memory_[k].numbers, 4, reinterpret_cast<char*>(to.numbers.whole), k);
  }
}

// Downloads in pieces, each of which is contiguous on the device and on the host.
void Outputs::fetch_from(const device::Block& block, std::int64_t bytes, char* host, std::size_t k) {
  const Output& o = output(k);
  const Range &rows = memory_[k].rows, &columns = memory_[k].columns;
  const std::int64_t all_rows = o.keep == Keep::none ? 1 : all_.lanes,
                     all_columns = o.keep == Keep::both ? all_.sweep : 1;
  const std::int64_t planes = o.width * o.places, in_plane = rows.size() * columns.size();
  const bool whole_columns = rows.size() == all_rows, all = whole_columns && columns.size() == all_columns;
  if (in_plane == 0) return;
  internal_check(all || runs_ == 1, "results of many runs that are not whole");
  const std::int64_t pieces = all ? 1 : planes * (whole_columns ? 1 : columns.size()),
                     piece = in_plane * planes / pieces * runs_;
  for (std::int64_t p = 0; p < pieces; ++p) {
    const std::int64_t plane = p * piece / in_plane, column = p - plane * (pieces / planes);
    const std::int64_t to =
        all ? 0 : (plane * all_columns + columns.from + (whole_columns ? 0 : column)) * all_rows + rows.from;
    device_.download(host + to * bytes, block.at() + static_cast<device::Pointer>(p * piece * bytes),
                     static_cast<std::size_t>(piece * bytes));
  }
}

void Outputs::hand_over() {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (result(k).before > 0) continue;
    keep(&memory_[k].values, result(k).values_stay);
    keep(&memory_[k].numbers, result(k).numbers_stay);
  }
}

void Outputs::keep(device::Block* block, Kept* stay) {
  if (stay) stay->copies[device_.number()] = device::copy_in(&device_, std::move(*block));
}

void Outputs::take_merged(const Outputs& other, std::int64_t first, std::int64_t end) {
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (output(k).keep != Keep::none) continue;
    const std::int64_t each = output(k).width * state_bytes(pass_, output(k));
    std::vector<char> states(static_cast<std::size_t>((end - first) * each));
    for (std::int64_t split = 0; split < cut_.splits; ++split) {
      const device::Pointer at = static_cast<device::Pointer>((split * cut_.blocks + first) * each);
      other.device_.enter();
      other.device_.download(states.data(), other.memory_[k].merged.at() + at, states.size());
      device_.enter();
      device_.upload(memory_[k].merged.at() + at, states.data(), states.size());
      device_.wait();
    }
  }
}

}  // namespace cuda
}  // namespace kernweave
