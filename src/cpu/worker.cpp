// Works on a block: packs its rows once; then, tile by tile, packs its columns and runs its strips.
#include "cpu/worker.hpp"

#include <algorithm>

#include "cpu/inputs.hpp"
#include "cpu/limits.hpp"

namespace kernweave {
namespace {
constexpr std::int64_t kAlign = 64;  // of the widest vector
std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
std::int64_t padded_to(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

std::int64_t longest_program(const Pass& pass) {
  return static_cast<std::int64_t>(
      std::max({pass.once.size(), pass.lane.size(), pass.sweep.size(), pass.pairs.size()}));
}

}  // namespace

template <class T>
TileWorker<T>::TileWorker(const PassRun& job) : job_(job), pass_(*job.pass) {
  const Tiling& t = pass_.tiling;
  const std::int64_t strips = t.rows / t.strip_rows();
  std::int64_t bytes = 0, storage = 0;
  std::array<std::int64_t, kSpaces> first{};
  for (int s = 0; s < kSpaces; ++s) {
    const std::int64_t numbers = std::max(pass_.numbers_in(static_cast<Space>(s)), t.strip());
    first[s] = bytes;
    bytes += aligned(numbers * static_cast<std::int64_t>(sizeof(T)));
  }
  for (const RowShape::OutputState& part : job.shape->parts)
    storage += part.kernel->lane_storage(part.output->places) * part.output->width * t.vectors;
  const std::int64_t states = bytes, storages = states + aligned(strips * pass_.lane_state_bytes);
  const std::int64_t scratch = storages + aligned(strips * storage);
  const std::int64_t room = scratch + aligned((pass_.scratch + 1) * kAlign);
  memory_.resize(static_cast<std::size_t>(room + job.kernel->room(longest_program(pass_)) + kAlign));
  char* const base = memory_.data() + (kAlign - reinterpret_cast<std::uintptr_t>(memory_.data()) % kAlign) % kAlign;
  for (int s = 0; s < kSpaces; ++s) spaces_[s] = reinterpret_cast<T*>(base + first[s]);
  states_ = base + states;
  storage_ = base + storages;
  scratch_ = base + scratch;
  room_ = base + room;
  own_panel_ = space(Space::sweep_panel);
}

template <class T>
void TileWorker<T>::take_up(const Task& task) {
  task_ = &task;
  spaces_[static_cast<int>(Space::sweep_panel)] = own_panel_;
  const Tiling& t = pass_.tiling;
  for (std::size_t k = 0; k < pass_.numbers.size(); ++k)
    std::fill_n(space(Space::once) + static_cast<std::int64_t>(k) * t.strip(), t.strip(),
                static_cast<T>(pass_.numbers[k]));
  pack_space(Space::once, Axis::param, {0, 0}, 1, t.strip());
  if (takes_tables()) pack_space(Space::table, Axis::param, {0, 0}, 1, 1);
  run_along(pass_.once, Space::once, t.strip());
}

template <class T>
void TileWorker<T>::pack_space(Space s, Axis axis, Point first, std::int64_t count, std::int64_t padded,
                               std::int64_t place) {
  for (const Packed& p : pass_.packed) {
    if (p.space != s) continue;
    const std::int64_t stride = pass_.stride(s);
    pack(p.reading, *job_.plan, task_->data, axis, first, count, padded, centre(p),
         space(s) + p.component * stride + place, stride);
  }
}

// Runs the program of one axis: lanes and columns of the strip both lie along the axis.
template <class T>
void TileWorker<T>::run_along(const std::vector<Instruction>& program, Space s, std::int64_t padded) {
  if (program.empty()) return;
  Frame frame{};
  frame.program = program.data();
  for (int k = 0; k < kSpaces; ++k) frame.base[k] = spaces_[k];
  frame.advance[static_cast<int>(s)] = pass_.tiling.strip();
  frame.columns = padded / pass_.tiling.strip_rows();
  frame.scratch = scratch_;
  frame.room = room_;
  job_.kernel->run(frame);
}

template <class T>
void TileWorker<T>::fill_panel(Space axis, std::int64_t count, T* out) {
  const Space panel = axis == Space::lane ? Space::lane_panel : Space::sweep_panel;
  const std::int64_t wide = pass_.stride(panel), apart = wide * pass_.components[static_cast<int>(panel)];
  for (const Panel& p : pass_.panels)
    for (int d = 0; d < p.width && p.from == axis; ++d)
      copy_component(space(axis) + (p.component + d) * pass_.stride(axis), count, wide, apart,
                     out + (p.place + d) * wide);
}

template <class T>
void TileWorker<T>::panel(std::int64_t column, std::int64_t end_column, T* to) {
  const std::int64_t columns = std::min(pass_.tiling.columns, end_column - column),
                     padded = padded_to(columns, pass_.tiling.strip());
  pack_space(Space::sweep, job_.sweep_axis(), job_.point(0, column), columns, padded);
  finish_panel(Space::sweep, padded, to);
}

// Prefetches the next tile's columns, which begin at `column`, one share for each strip of this tile: a tile is too
// short for the hardware prefetcher, and prefetching a whole tile at once stalls.
template <class T>
void TileWorker<T>::expect_share(std::int64_t column, std::int64_t end_column, std::int64_t strip,
                                 std::int64_t strips) {
  const std::int64_t wide = pass_.tiling.columns, first = column + wide * strip / strips,
                     end = std::min(column + wide * (strip + 1) / strips, end_column);
  for (const Packed& p : pass_.packed)
    if (p.space == Space::sweep && first < end)
      expect(p.reading, *job_.plan, task_->data, job_.sweep_axis(), job_.point(0, first), end - first);
}

template <class T>
void TileWorker<T>::row_panel(std::int64_t first_row, std::int64_t rows, T* to) {
  const std::int64_t padded = padded_to(rows, pass_.tiling.strip());
  pack_space(Space::lane, job_.lane_axis(), job_.point(first_row, 0), rows, padded);
  finish_panel(Space::lane, padded, to);
}

template <class T>
void TileWorker<T>::pack_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  const std::int64_t stride = pass_.stride(Space::pairs);
  const PairStrip strip{rows, pass_.tiling.strip_rows(), columns, padded_to(columns, pass_.tiling.per_strip)};
  for (const Packed& p : pass_.packed)
    if (p.space == Space::pairs)
      kernweave::pack_pairs(p.reading, *job_.plan, task_->data, job_.lane_axis(), job_.point(row, column), strip,
                            centre(p), space(Space::pairs) + p.component * stride, stride);
}

// Returns the frame that all strips of a tile share: with few columns, setting out a frame takes longer than a strip.
template <class T>
Frame TileWorker<T>::frame_of(std::int64_t columns) {
  const Tiling& t = pass_.tiling;
  Frame frame{};
  frame.program = pass_.pairs.data();
  frame.operands = pass_.operands.data();
  for (int k = 0; k < kSpaces; ++k) frame.base[k] = spaces_[k];
  frame.advance[static_cast<int>(Space::sweep_panel)] =
      t.per_strip * pass_.components[static_cast<int>(Space::sweep_panel)];
  frame.advance[static_cast<int>(Space::pairs)] = t.per_strip * t.strip_rows();
  frame.columns = columns;
  frame.scratch = scratch_;
  frame.room = room_;
  return frame;
}

template <class T>
void TileWorker<T>::run_strip(Frame* frame, std::int64_t strip, std::int64_t row, std::int64_t column) {
  frame->base[static_cast<int>(Space::lane_panel)] =
      space(Space::lane_panel) +
      strip * pass_.tiling.strip_rows() * pass_.components[static_cast<int>(Space::lane_panel)];
  frame->states = lane_states(strip);
  const std::int64_t rows_of_matrix = job_.pass->lanes_along_i ? job_.lanes : job_.sweep;
  const std::int64_t number = column + task_->columns_before;
  const Point at = job_.point(row, number);
  frame->count[kAlongSweep] = {number + 1, 1, 0};
  frame->count[kByPlace] = {at.i + at.j * rows_of_matrix + 1, pass_.lanes_along_i ? rows_of_matrix : 1,
                            pass_.lanes_along_i ? 1 : rows_of_matrix};
  pass_.run_pairs(*frame);
}

// Calls f with each state of lanes and the output that it belongs to.
template <class T>
template <class F>
void TileWorker<T>::each_state(std::int64_t strips, F f) {
  for (std::int64_t strip = 0; strip < strips; ++strip)
    for (const RowShape::OutputState& part : job_.shape->parts) {
      char* state = lane_states(strip) + part.lane_state;
      for (int k = 0; k < part.output->width * pass_.tiling.vectors; ++k, state += part.kernel->lane_bytes)
        f(part, state);
    }
}

template <class T>
void TileWorker<T>::init_states(std::int64_t strips) {
  char* storage = storage_;
  each_state(strips, [&](const RowShape::OutputState& part, char* state) {
    part.kernel->lane_init(state, storage, part.output->places);
    storage += part.kernel->lane_storage(part.output->places);
  });
}

// Tells whether all states take a sample of their terms first.
template <class T>
bool TileWorker<T>::looks() const {
  const std::vector<RowShape::OutputState>& parts = job_.shape->parts;
  return !parts.empty() && pass_.components[static_cast<int>(Space::pairs)] == 0 &&
         std::all_of(parts.begin(), parts.end(), [](const RowShape::OutputState& part) { return part.kernel->looks; });
}

// Tells whether a tile is looked at first: if there are enough columns for each place of a list.
template <class T>
bool TileWorker<T>::looks_first(std::int64_t columns) const {
  const auto enough = [&](const auto& part) { return columns >= kLookedAtOfPlace * part.output->places; };
  return looks() && std::all_of(job_.shape->parts.begin(), job_.shape->parts.end(), enough);
}

template <class T>
void TileWorker<T>::look(std::int64_t strips, std::int64_t first_row, std::int64_t column, std::int64_t columns) {
  each_state(strips, [](const RowShape::OutputState& part, char* state) { part.kernel->lane_look(state); });
  Frame frame = frame_of(columns);
  for (std::int64_t strip = 0; strip < strips; ++strip)
    run_strip(&frame, strip, first_row + strip * pass_.tiling.strip_rows(), column);
  each_state(strips, [](const RowShape::OutputState& part, char* state) { part.kernel->lane_end_look(state); });
}

// Flushes lane states into row states: states that add after every tile, other states after the last tile.
template <class T>
void TileWorker<T>::flush(const StatesFrom& states, std::int64_t rows, bool adding) {
  const Tiling& t = pass_.tiling;
  for (std::size_t p = 0; p < job_.shape->parts.size(); ++p) {
    const RowShape::OutputState& part = job_.shape->parts[p];
    if (part.kernel->adds != adding) continue;
    std::int64_t row = 0;
    for (std::int64_t strip = 0; row < rows; ++strip)
      for (int vector = 0; vector < t.vectors && row < rows; ++vector, row += t.lanes) {
        const int count = static_cast<int>(std::min<std::int64_t>(t.lanes, rows - row));
        char* state = lane_states(strip) + part.lane_state + vector * part.kernel->lane_bytes;
        for (int c = 0; c < part.output->width; ++c, state += t.vectors * part.kernel->lane_bytes) {
          part.kernel->flush(states.at(p, c, row), state, count);
          if (adding) part.kernel->lane_restart(state);
        }
      }
  }
}

// Multiplies the values of a tile, for one strip of lanes, by their weights.
template <class T>
void TileWorker<T>::multiply(std::int64_t strip, std::int64_t columns) {
  for (const PassOutput& o : pass_.outputs)
    if (o.mode == PassOutput::Mode::multiplied)
      job_.kernel->multiply({space(Space::pairs) + o.values * pass_.stride(Space::pairs),
                             space(Space::sweep_panel) + o.weights * pass_.stride(Space::sweep_panel),
                             pass_.tiling.per_strip * pass_.components[static_cast<int>(Space::sweep_panel)], columns,
                             job_.variant->outputs[o.number].width, lane_states(strip) + o.lane_state});
}

// Writes outputs that are kept pair by pair: each value is a fold of one term.
template <class T>
void TileWorker<T>::write_pairs(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  const std::int64_t wide = pass_.tiling.strip_rows(), stride = pass_.stride(Space::pairs),
                     pairs = job_.lanes * job_.sweep;
  for (const PassOutput& o : pass_.outputs) {
    if (o.mode != PassOutput::Mode::written) continue;
    const Output& output = job_.variant->outputs[o.number];
    const Result& result = task_->results[o.number];
    SingleFold fold(output);
    for (int c = 0; c < output.width; ++c) {
      const T* values = space(Space::pairs) + (o.values + (output.value.width > 1 ? c : 0)) * stride;
      const T* weights =
          o.weights < 0 ? nullptr : space(Space::pairs) + (o.weights + (output.weight.width > 1 ? c : 0)) * stride;
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t to = row + (column + j) * job_.lanes, from = j * wide;
        if (!weights && fold.is_plain()) {
          result.put_terms(to + pairs * c, rows, values + from);
          continue;
        }
        for (std::int64_t i = 0; i < rows; ++i)
          fold.write(values[from + i], weights ? weights[from + i] : 1.0, to + i, pairs, c, result);
      }
    }
  }
}

// Returns the first columns, which need their own panel: shared panels begin at strips, and need enough columns to pay.
template <class T>
Range TileWorker<T>::with_own_panel(const Range& columns) const {
  if (!job_.columns) return columns;
  const std::int64_t first = padded_to(columns.from, pass_.tiling.per_strip);
  if (first == columns.from) return {first, first};
  return {columns.from, columns.to - first < kFewestColumns ? columns.to : first};
}

// Runs one tile of columns for all strips of rows. Prefetches the columns `expected` next if columns come from data.
template <class T>
void TileWorker<T>::tile(const RowBlock& block, std::int64_t column, std::int64_t columns, const Range& expected) {
  const Tiling& t = pass_.tiling;
  const bool has_pairs = pass_.components[static_cast<int>(Space::pairs)] > 0;
  const std::int64_t of_column = std::max(pass_.components[static_cast<int>(Space::sweep_panel)], 1);
  Frame frame = frame_of(columns);
  for (std::int64_t strip = 0; strip < block.strips; ++strip) {
    const std::int64_t row = block.rows.from + strip * t.strip_rows(),
                       here = std::min(t.strip_rows(), block.rows.to - row);
    if (has_pairs) pack_pairs(row, here, column, columns);
    if (expected.size() > 0) expect_share(expected.from, expected.to, strip, block.strips);
    run_strip(&frame, strip, row, column);
    if (has_pairs) multiply(strip, columns);
    if (has_pairs) write_pairs(row, here, column, columns);
    if ((unseen_ += columns * of_column) >= kNumbersOfBeat) {
      (*block.beat)();
      unseen_ = 0;
    }
  }
  flush(block.states, block.rows.size(), true);
}

template <class T>
void TileWorker<T>::columns_of(const RowBlock& block, const Range& range, bool shared) {
  const Tiling& t = pass_.tiling;
  for (std::int64_t column = range.from; column < range.to; column += t.columns) {
    const std::int64_t columns = std::min(t.columns, range.to - column);
    spaces_[static_cast<int>(Space::sweep_panel)] = shared ? shared_panel(column) : own_panel_;
    if (!shared) panel(column, range.to, own_panel_);
    if (column == range.from && !looked_ && looks_first(columns)) look(block.strips, block.rows.from, column, columns);
    looked_ = true;
    tile(block, column, columns, shared ? Range() : Range{column + t.columns, range.to});
  }
}

// Folds the columns that were set out, for all rows. Columns that are missing in a strip repeat the last column.
template <class T>
void TileWorker<T>::take_joined(const RowBlock& block, std::int64_t columns, std::int64_t last) {
  if (columns == 0) return;
  const std::int64_t padded = padded_to(columns, pass_.tiling.strip());
  if (padded > columns) pack_space(Space::sweep, job_.sweep_axis(), job_.point(0, last), 1, padded - columns, columns);
  spaces_[static_cast<int>(Space::sweep_panel)] = own_panel_;
  finish_panel(Space::sweep, padded, own_panel_);
  tile(block, 0, columns, {});
}

// Folds the columns of short spans side by side in a tile: each span by itself would begin and end within a strip, and
// set out all loops anew.
template <class T>
void TileWorker<T>::joined_spans(const RowBlock& block, const PairSpan* first, const PairSpan* last) {
  const std::int64_t most = pass_.tiling.columns;
  std::int64_t filled = 0, place = 0;
  for (; first != last; ++first) {
    Range left = first->columns;
    for (const bool alone = job_.columns && left.size() >= most; left.size() > 0;) {
      if (alone || filled == most) take_joined(block, filled, place), filled = 0;
      if (alone) break;
      const std::int64_t here = std::min(left.size(), most - filled);
      pack_space(Space::sweep, job_.sweep_axis(), job_.point(0, left.from), here, here, filled);
      filled += here;
      left.from += here;
      place = left.from - 1;
    }
    span_alone(block, left);
  }
  take_joined(block, filled, place);
}

template <class T>
void TileWorker<T>::span_alone(const RowBlock& block, const Range& columns) {
  const Range own = with_own_panel(columns);
  columns_of(block, own, false);
  columns_of(block, {own.to, columns.to}, true);
}

template <class T>
void TileWorker<T>::block(const Range& rows, const PairSpan* first, const PairSpan* last, const StatesFrom& states,
                          const std::function<void()>& beat) {
  const std::int64_t wide = pass_.tiling.strip_rows();
  const RowBlock block{rows, padded_to(rows.size(), wide) / wide, states, &beat};
  row_panel(rows.from, rows.size(), space(Space::lane_panel));
  init_states(block.strips);
  looked_ = false;
  unseen_ = 0;
  if (last - first > 1 && pass_.in_any_order) joined_spans(block, first, last);
  else
    for (; first != last; ++first) span_alone(block, first->columns);
  flush(states, rows.size(), false);
  beat();
}

template <class T>
void TileWorker<T>::begin_strip(const Index* names) {
  init_states(1);
  each_state(1, [&](const RowShape::OutputState& part, char* state) { part.kernel->lane_names(state, names); });
}

template <class T>
void TileWorker<T>::look_at_strip(const T* rows, const T* columns, std::int64_t count) {
  each_state(1, [](const RowShape::OutputState& part, char* state) { part.kernel->lane_look(state); });
  fold_strip(rows, columns, count, 0);
  each_state(1, [](const RowShape::OutputState& part, char* state) { part.kernel->lane_end_look(state); });
}

// Returns the limit of the first output's states. NaN stays NaN.
template <class T>
double TileWorker<T>::limit() const {
  const RowShape::OutputState& part = job_.shape->parts[0];
  const char* state = states_ + part.lane_state;
  const bool least = row(part.output->red).matters == red::Matters::least;
  double most = part.kernel->lane_limit(state);
  for (int v = 1; v < pass_.tiling.vectors && most == most; ++v) {
    state += part.kernel->lane_bytes;
    const double other = part.kernel->lane_limit(state);
    if (!(least ? other <= most : most <= other)) most = other;
  }
  return most;
}

template class TileWorker<float>;
template class TileWorker<double>;

}  // namespace kernweave
