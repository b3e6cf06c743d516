// Memory and downloads. Results that stay on the device have room for all points, others for those of a window.
#include "cuda/outputs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cuda/inputs.hpp"

namespace kernweave {
namespace cuda {
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
    const double states = static_cast<double>(o.width) * static_cast<double>(state_bytes(o));
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
  // If the results of several runs stay, they lie in the memory that the first run made.
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
  const std::int64_t each = state_bytes(o);
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
    // A component's rows lie together.
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

// Downloads in pieces, each as long as numbers lie together at both ends.
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
    const std::int64_t each = output(k).width * state_bytes(output(k));
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
