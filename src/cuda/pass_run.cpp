// Runs a pass window by window: places the memory that kernels read and write, and makes launches so short that the
// user can interrupt.
#include "cuda/pass_run.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cuda/limits.hpp"

namespace kernweave {
namespace cuda {
namespace {

constexpr std::int64_t kMostSplits = 65535;  // blocks of a launch along its second axis
constexpr unsigned kPointThreads = 128;      // for kernels with a thread for each point: 16 384 take all processors
constexpr const char* kOfOneAxis = "what depends on one axis";

std::shared_ptr<const device::Kernels> kernels_of(const Pass& pass, const Code& code, device::Device* device) {
  const std::shared_ptr<const device::Kernels> kernels =
      pass.interpreted() ? device->kernels_of_image(interpreter_image(pass.float32)) : device->kernels(code.source);
  kernels->allow_shared(code.interpretation.sweep, static_cast<int>(pass.shared_bytes()));
  return kernels;
}

void add_bytes(const void* from, std::size_t size, std::vector<char>* to) {
  to->insert(to->end(), static_cast<const char*>(from), static_cast<const char*>(from) + size);
}

// Returns the number of blocks that have the same rows and columns, each with a part of the weights.
int weight_blocks_of(const Pass& pass, const Code& code) {
  return pass.interpreted() ? code.interpretation.weight_blocks() : pass.wide.weight_blocks;
}

}  // namespace

ReadyPass make_ready(WrittenPass written, std::vector<device::Device*> devices, std::int64_t split, double seconds) {
  ReadyPass made{std::move(written.pass), std::move(written.code), std::move(devices), {}, {}};
  for (device::Device* device : made.devices) {
    device->enter();
    made.kernels.push_back(kernels_of(made.pass, made.code, device));
  }
  const int resident =
      made.kernels[0]->resident(made.code.interpretation.sweep, made.pass.shape.threads, made.pass.shared_bytes());
  const AtOnce at_once{made.devices[0]->processors(), std::max(1, resident / weight_blocks_of(made.pass, made.code))};
  made.cut = cut(made.pass, made.pass.all.lanes, made.pass.all.sweep, at_once, seconds, split);
  return made;
}

PassRun::PassRun(const ReadyPass& ready, std::size_t which, const Task& task, const Range& rows, std::int64_t runs)
    : pass_(ready.pass),
      code_(ready.code),
      device_(*ready.devices[which]),
      all_(ready.pass.all),
      rows_(rows),
      cut_(ready.cut),
      kernels_(*ready.kernels[which]),
      limit_(task.gpu_bytes),
      runs_(runs),
      staging_(&device_),
      inputs_(pass_, task, &device_, &staging_),
      outputs_(pass_, task, cut_, &device_, runs) {}

// Finds how many points of both axes fit the device's memory at the same time.
void PassRun::begin(MemoryRoom room, const std::function<void(double)>& poll) {
  device_.enter();
  poll_ = &poll;
  Needs needs = needs_of(pass_);
  inputs_.count(&needs);
  outputs_.count(&needs);
  needs = needs.times(static_cast<double>(runs_));
  windows_ = fitting(needs, pass_, cut_, rows_, all_.sweep, budget(needs, room));
  if (runs_ > 1 && !windows_.whole) fail(Fault::memory, runs_, " batches do not fit the GPU's memory at once");
}

void PassRun::run(MemoryRoom room, const std::function<void(double)>& poll, const std::vector<const Task*>& tasks) {
  turns_ = static_cast<std::int64_t>(tasks.size());
  outputs_.begin_turn(0, turns_);
  begin(room, poll);
  for (const Range& lanes : pieces(rows_, windows_.lanes)) {
    for (std::int64_t turn = 0; turn < turns_; ++turn) {
      begin_turn(turn, turns_ > 1 ? tasks[static_cast<std::size_t>(turn)] : nullptr);
      for (const Range& sweep : pieces({0, all_.sweep}, windows_.sweep)) {
        enter(lanes, sweep);
        sweep_window();
        outputs_.fetch(Keep::both);
      }
    }
    outputs_.fetch(pass_.lane_keep());
  }
  device_.wait();
}

// Numbers of the program are sent with the first data; data of another task are sent anew.
void PassRun::begin_turn(std::int64_t turn, const Task* task) {
  turn_ = turn;
  outputs_.begin_turn(turn, turns_);
  if (task) {
    device_.wait();
    staging_.begin_anew();
    inputs_.take(*task);
    lanes_ = sweep_ = {-1, -1};
  }
  if (task || head_.numbers == nullptr) place_numbers();
}

bool PassRun::lost() {
  if (!pass_.may_lose()) return false;
  int lost = 0;
  device_.enter();
  device_.download(&lost, lost_, sizeof lost);
  return lost != 0;
}

void PassRun::finish(const std::vector<std::unique_ptr<PassRun>>& all) {
  for (const std::unique_ptr<PassRun>& other : all)
    if (other.get() != this)
      outputs_.take_merged(other->outputs_, other->rows_.from / pass_.shape.block_rows, blocks_of(other->rows_.to));
  if (pass_.folds_all()) {
    device_.enter();
    outputs_.place_totals();
    head_.blocks = cut_.blocks * turns_;
    head_.splits = cut_.splits;
    launch("total", 1, 1, static_cast<unsigned>(pass_.shape.threads), 0);
    outputs_.fetch(Keep::none);
    device_.wait();
  }
  outputs_.hand_over();
}

// --- memory -----------------------------------------------------------------------------------------------

// Pads a range to whole strips and tiles, which kernels read without a check (kernweave/gpu/sweep.hpp).
// Spans of restricted pairs begin anywhere, so the last strip may read one tile further.
Range PassRun::padded(const Range& s) const {
  return {s.from, (ceiling(s.to, pass_.shape.padding) + (pass_.units ? 1 : 0)) * pass_.shape.padding};
}
Range PassRun::padded_rows(const Range& s) const { return {s.from, rows_of(blocks_of(s.to))}; }

// Returns the threads that pack the weights of some columns: one thread for each weight of a tile.
Range PassRun::weights(const Range& columns) const {
  const std::int64_t width = pass_.wide.padded_width(), tile = pass_.shape.padding;
  return {columns.from / tile * width, columns.to / tile * width};
}

// Returns the bytes that the call may take. Asks the driver if the call needs a large share of the device's memory.
double PassRun::budget(const Needs& needs, MemoryRoom room) const {
  const bool modest = needs.all(rows_.size(), all_.sweep) <= kGpuModestShare * static_cast<double>(device_.memory());
  if (room == MemoryRoom::expected && modest) return limit_;
  return std::min(limit_, kGpuUsableShare * static_cast<double>(device_.free_memory()));
}

// Makes room for the points of a range. Returns the address that point 0 would have.
template <class T>
T* PassRun::room_for(device::Block* block, const Range& points, std::int64_t bytes_each, const char* what) {
  device_.make_room(block, static_cast<std::size_t>(points.size() * bytes_each * runs_), what);
  return device::address<T>(block->at() - static_cast<device::Pointer>(points.from * bytes_each));
}

// Makes room for all of a panel's numbers, which lie point by point or component by component.
void* PassRun::room_for_panel(device::Block* block, const Range& points, const Panel& panel, bool by_points) {
  const std::int64_t bytes = pass_.number_bytes(), of_point = panel.total * bytes;
  device_.make_room(block, static_cast<std::size_t>(points.size() * of_point * runs_), kOfOneAxis);
  return device::address<void>(block->at() -
                               static_cast<device::Pointer>(points.from * (by_points ? of_point : bytes)));
}

void PassRun::place_numbers() {
  const std::vector<double>& numbers = pass_.program().numbers;
  const double none = 0;
  head_.numbers = device::address<double>(staging_.put(numbers.data(), static_cast<std::int64_t>(numbers.size())));
  lost_ = staging_.put(&none, 1);
  head_.lost = device::address<int>(lost_);
  head_.lanes = all_.lanes;
  head_.sweep = all_.sweep;
  head_.split = cut_.split;
  head_.blocks = cut_.blocks;
  head_.splits = pass_.folded ? std::max<std::int64_t>(2, cut_.splits) : cut_.splits;  // so that states are merged
  head_.group = cut_.group;
  head_.once = room_for<void>(&once_, {0, pass_.once.total}, pass_.number_bytes(), "the parameters");
}

// --- windows ----------------------------------------------------------------------------------------------

// Uploads and computes the numbers of a window, except those shared with the last window.
void PassRun::enter(const Range& lanes, const Range& sweep) {
  const bool first = lanes_.from < 0, new_lanes = !(lanes_ == lanes), new_sweep = !(sweep_ == sweep);
  lanes_ = lanes;
  sweep_ = sweep;
  inputs_.place(lanes, sweep, windows_.whole);
  staging_.send();
  head_.splits_from = cut_.split > 0 ? sweep.from / cut_.split : 0;
  head_.splits_here = cut_.split > 0 ? ceiling(sweep.size(), cut_.split) : 1;
  head_.continues = sweep.from > 0 || turn_ > 0;
  head_.goes_on = sweep.to < all_.sweep || turn_ + 1 < turns_;
  if (new_lanes) place_rows(lanes);
  if (new_sweep) place_columns(sweep);
  const Slice slice = slice_of(std::min(windows_.chunk, blocks_of(lanes.size())));
  if (pass_.units) outputs_.place({lanes, sweep, waiting_.rows, waiting_.parts, waiting_.blocks});
  else
    outputs_.place({lanes, sweep, std::min(lanes.size(), rows_of(windows_.chunk)),
                    head_.splits_here * pass_.shape.parts, std::max<std::int64_t>(1, slice.blocks * slice.splits)});
  if (pass_.interpreted()) place_script();
  if (first) launch_points("once", {0, 1});
  if (new_sweep) compute_columns(sweep);
  if (new_lanes) compute_rows(lanes);
}

void PassRun::place_rows(const Range& lanes) {
  head_.rows_held = lanes.size();
  if (pass_.stores_rows()) head_.rows = room_for_panel(&row_numbers_, lanes, pass_.lanes, pass_.nearest);
  if (!pass_.product.any()) return;
  head_.row_halves = room_for<void>(&row_halves_, padded_rows(lanes), pass_.product_bytes(), kOfOneAxis);
  head_.row_scales = room_for<float>(&row_scales_, padded_rows(lanes), sizeof(float), kOfOneAxis);
  if (pass_.nearest) head_.row_squares = room_for<float>(&row_squares_, padded_rows(lanes), sizeof(float), kOfOneAxis);
}

void PassRun::place_columns(const Range& sweep) {
  const Range all = padded(sweep);
  head_.columns = room_for_panel(&columns_, all, pass_.sweep, !pass_.interpreted());
  if (pass_.product.any()) {
    head_.column_halves = room_for<void>(&column_halves_, all, pass_.product_bytes(), kOfOneAxis);
    head_.column_scales = room_for<float>(&column_scales_, all, sizeof(float), kOfOneAxis);
    if (pass_.nearest) head_.column_squares = room_for<float>(&column_squares_, all, sizeof(float), kOfOneAxis);
  }
  if (!pass_.wide.any()) return;
  head_.weight_halves = room_for<void>(&weight_halves_, all, pass_.weight_bytes(), kOfOneAxis);
  head_.weight_scales = room_for<float>(&weight_scales_, weights(all), sizeof(float), kOfOneAxis);
}

// The script has the addresses of data and results, so each window gets its own.
void PassRun::place_script() {
  const Packed packed(code_.interpretation, inputs_.data, outputs_.targets);
  device_.make_room(&scripted_, packed.bytes.size(), "the script");
  device_.upload(scripted_.at(), packed.bytes.data(), packed.bytes.size());
  script_ = packed.script(scripted_.at());
  script_.column_stride = padded(sweep_).size();
}

void PassRun::compute_rows(const Range& lanes) {
  if (pass_.stores_rows()) launch_points("rows", lanes);
  if (pass_.product.any()) launch_points("packed_rows", padded_rows(lanes));
}

void PassRun::compute_columns(const Range& sweep) {
  const Range all = padded(sweep);
  launch_points("columns", all);
  if (pass_.product.any()) launch_points("packed_columns", all);
  if (pass_.wide.any()) launch_points("packed_weights", weights(all));
}

// --- launches ---------------------------------------------------------------------------------------------

// Makes the arguments of a launch: the bytes of kernweave::gpu::Arguments or kernweave::gpu::Script.
std::vector<char> PassRun::arguments() const {
  std::vector<char> bytes;
  if (pass_.interpreted()) {
    gpu::Script script = script_;
    script.head = head_;
    add_bytes(&script, sizeof script, &bytes);
  } else {
    add_arguments(0, &bytes);
  }
  return bytes;
}

// Adds the arguments of run number `run`, which has its share of all memory.
void PassRun::add_arguments(std::int64_t run, std::vector<char>* bytes) const {
  const std::vector<gpu::Data> data = inputs_.data_of(run);
  const std::vector<gpu::Target> targets = outputs_.targets_of(run);
  gpu::Head head = head_;
  const auto move = [&](void** at, std::int64_t numbers) {
    *at = static_cast<char*>(*at) + run * numbers * pass_.number_bytes();
  };
  move(&head.once, pass_.once.total);
  move(&head.columns, padded(sweep_).size() * pass_.sweep.total);
  move(&head.rows, lanes_.size() * pass_.lanes.total);
  add_bytes(&head, sizeof head, bytes);
  add_bytes(data.data(), data.size() * sizeof(gpu::Data), bytes);
  add_bytes(targets.data(), targets.size() * sizeof(gpu::Target), bytes);
}

// Uploads the arguments of all runs of a batched pass. Returns the bytes of their address on the device.
std::vector<char> PassRun::arguments_of_runs() {
  std::vector<char> all, bytes;
  for (std::int64_t run = 0; run < runs_; ++run) add_arguments(run, &all);
  device_.make_room(&all_arguments_, all.size(), "the batches");
  device_.upload(all_arguments_.at(), all.data(), all.size());
  const device::Pointer at = all_arguments_.at();
  add_bytes(&at, sizeof at, &bytes);
  return bytes;
}

void PassRun::launch(const char* name, std::int64_t blocks, std::int64_t splits, unsigned threads,
                     std::int64_t shared_bytes, int weight_blocks) {
  const device::Function function = kernels_.find(name);
  internal_check(function != nullptr, "no kernel ", name);
  const std::int64_t along_z = pass_.batched ? runs_ : weight_blocks;
  device_.launch(function, static_cast<unsigned>(blocks), static_cast<unsigned>(splits), static_cast<unsigned>(along_z),
                 threads, static_cast<unsigned>(shared_bytes), pass_.batched ? arguments_of_runs() : arguments());
}

void PassRun::launch_points(const char* name, const Range& points, std::int64_t times, int blocks_z) {
  head_.from = points.from;
  head_.to = points.to;
  if (points.size() > 0) launch(name, ceiling(points.size(), kPointThreads), times, kPointThreads, 0, blocks_z);
}

// The blocks and splits of a launch. They change no result: a block computes the same numbers in any launch.
PassRun::Slice PassRun::slice_of(std::int64_t blocks) const {
  const std::int64_t some = std::max<std::int64_t>(1, std::min(blocks, cut_.of_launch));
  return {some,
          std::max<std::int64_t>(1, std::min<std::int64_t>({head_.splits_here, cut_.of_launch / some, kMostSplits}))};
}

void PassRun::sweep_window() {
  const std::int64_t end = blocks_of(lanes_.to);
  for (std::int64_t block = lanes_.from / pass_.shape.block_rows; block < end; block += windows_.chunk)
    sweep_chunk(block, std::min(windows_.chunk, end - block));
}

// Sweeps rows whose states fit the memory together: all splits of the window; then merges each row's states in order.
void PassRun::sweep_chunk(std::int64_t block, std::int64_t blocks) {
  head_.first_row = rows_of(block);
  head_.rows_here = std::min<std::int64_t>(lanes_.to - head_.first_row, rows_of(blocks));
  const Slice slice = slice_of(blocks);
  const std::int64_t end = head_.splits_from + head_.splits_here;
  for (head_.first_split = head_.splits_from; head_.first_split < end; head_.first_split += slice.splits)
    for (head_.first_block = block; head_.first_block < block + blocks; head_.first_block += slice.blocks)
      launch_slice({std::min<std::int64_t>(slice.blocks, block + blocks - head_.first_block),
                    std::min<std::int64_t>(slice.splits, end - head_.first_split)});
  if (outputs_.merges()) merge();
}

// Merges states. If there are many splits, the states of each group are merged first, each group by its own threads.
void PassRun::merge() {
  const Range rows{head_.first_row, head_.first_row + head_.rows_here};
  head_.gathers = cut_.group > 1;
  const int by_weights = std::max(1, pass_.wide.padded_width() / 8);
  if (head_.gathers) launch_points("merge", rows, ceiling(head_.splits_here, cut_.group), by_weights);
  head_.gathers = 0;
  launch_points("merge", rows, 1, by_weights);
}

void PassRun::launch_slice(const Slice& slice) {
  launch(code_.interpretation.sweep, slice.blocks, slice.splits, static_cast<unsigned>(pass_.shape.threads),
         pass_.shared_bytes(), weight_blocks_of(pass_, code_));
  done_ += slice.blocks * slice.splits;
  if (cut_.blocks * cut_.splits <= cut_.of_launch) return;
  device_.wait();
  (*poll_)(static_cast<double>(done_) / static_cast<double>(blocks_of(rows_.size()) * cut_.splits));
}

}  // namespace cuda
}  // namespace kernweave
