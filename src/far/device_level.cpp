// Pairs of boxes lie in batches of a class and a turn; what they find waits, pair by pair, until the pairs of a target
// are added up in their order: sums have the same bits each time.
#include "far/device_level.hpp"

namespace kernweave {
namespace far {
namespace {

using gpu::FarTask;

static_assert(gpu::kFarDegrees<1> == kMostDegreesOf<1> && gpu::kFarDegrees<2> == kMostDegreesOf<2> &&
              gpu::kFarDegrees<3> == kMostDegreesOf<3> && gpu::kFarRowsOfBlock == kRowsOfBlock);

constexpr std::size_t kWaitingBytes = std::size_t{1} << 30;  // of what pairs have found
constexpr std::int64_t kSharedBytes = 110 * 1024;            // of a batch, so that two are on a multiprocessor

std::int64_t bytes_of(std::int64_t numbers) { return numbers * static_cast<std::int64_t>(sizeof(double)); }

}  // namespace

template <int D>
LevelThere<D>::LevelThere(Device* device, const Level<D>& level, const Trees<D>& trees, std::size_t number, int power,
                          const arrays::Workers& workers)
    : device_(device), spread_(Spread::of(power, D)), terms_(level.terms.count()), padded_(level.terms.padded()),
      degrees_(level.terms.terms().degrees), half_(level.half),
      targets_(device, trees.cube, trees.targets.boxes[number], level.targets, half_, gpu::kFarEvaluated),
      sources_(device, trees.cube, trees.sources.boxes[number], level.sources, half_, gpu::kFarStretch) {
  send_terms(level.terms);
  send_matrices(level);
  for (width_ = gpu::kFarMostBatch; width_ > 1 && shared_bytes() > kSharedBytes;) width_ /= 2;
  send_pairs(level, workers);
}

template <int D>
std::int64_t LevelThere<D>::shared_bytes() const {
  return bytes_of(gpu::far_apply_numbers(padded_, width_));
}

template <int D>
void LevelThere<D>::add(const PointsThere<D>& targets, const PointsThere<D>& sources, const double* weights,
                        double* sums, const SeriesRoom& room) const {
  FarTask task{};
  task.spread = spread_;
  task.half = half_;
  task.set = there<int>(set_);
  task.ends = there<int>(ends_);
  task.degrees = degrees_;
  task.terms = terms_;
  task.room = padded_;
  find_moments(task, sources, weights, room);
  task.centres = there<gpu::FarCentre>(targets_.centres);
  for (const PairsThere& pairs : pairs_) apply(task, pairs, room);
  task.points = there<double>(targets.lie->components);
  task.behind = targets.count;
  task.sums = sums;
  task.stretches = there<gpu::FarPoints>(targets_.stretches);
  task.series = there<double>(room.series);
  launch(device_, D, "far_evaluated",
         {targets_.stretch_count, 1, gpu::kFarEvaluated, bytes_of(power(degrees_, D))}, task);
}

template <int D>
void LevelThere<D>::find_moments(FarTask task, const PointsThere<D>& sources, const double* weights,
                                 const SeriesRoom& room) const {
  task.points = there<double>(sources.lie->components);
  task.behind = sources.count;
  task.weights = weights;
  task.stretches = there<gpu::FarPoints>(sources_.stretches);
  task.centres = there<gpu::FarCentre>(sources_.centres);
  task.series = there<double>(has_parts() ? room.parts : room.moments);
  launch(device_, D, "far_moments",
         {sources_.stretch_count, spread_.count(), gpu::kFarThreads, bytes_of(gpu::far_moments_numbers<D>(degrees_))},
         task);
  if (!has_parts()) return;
  task.parts = task.series;
  task.part_starts = there<int>(sources_.starts);
  task.series = there<double>(room.moments);
  launch(device_, D, "far_added", {sources_.count, spread_.count()}, task);
}

template <int D>
void LevelThere<D>::apply(FarTask task, const PairsThere& pairs, const SeriesRoom& room) const {
  task.series = there<double>(room.moments);
  task.batches = there<gpu::FarBatch>(pairs.batch);
  task.sources = there<int>(pairs.sources);
  task.turned = there<int>(turned_);
  task.starts = there<int>(starts_);
  task.columns = there<int>(columns_);
  task.numbers = there<double>(numbers_);
  task.blocks = blocks_;
  task.width = width_;
  task.found = there<double>(room.waiting);
  launch(device_, D, "far_apply", {pairs.batches, spread_.count(), gpu::kFarThreads, shared_bytes()}, task);
  task.series = there<double>(room.series);
  task.pair_starts = there<int>(pairs.starts);
  task.pairs = there<int>(pairs.numbers);
  task.first = pairs.first_target;
  task.of_sources = there<gpu::FarCentre>(sources_.centres);
  launch(device_, D, "far_collected", {pairs.targets, spread_.count()}, task);
}

template <int D>
void LevelThere<D>::send_terms(const LevelTerms<D>& terms) {
  const Terms of = terms.terms();
  set_ = sent(device_, std::vector<int>(of.set, of.set + terms_));
  ends_ = sent(device_, std::vector<int>(of.ends, of.ends + power(degrees_, D - 1)));
  std::vector<int> turned;
  for (int number = 0; number < kTurns; ++number) {
    const auto& turn = terms.turn(number);
    for (std::size_t k = 0; k < static_cast<std::size_t>(terms_); ++k)
      turned.push_back(turn.place.empty() ? 0 : turn.sign[k] < 0 ? ~turn.place[k] : turn.place[k]);
  }
  turned_ = sent(device_, turned);
}

template <int D>
void LevelThere<D>::send_matrices(const Level<D>& level) {
  std::vector<int> starts, columns;
  std::vector<double> numbers;
  blocks_ = padded_ / kRowsOfBlock;
  for (std::size_t c = 0; c < level.classes.size(); ++c) {
    const ClassMatrix& matrix = level.terms.matrix(static_cast<int>(c));
    const auto before = static_cast<int>(columns.size());
    for (std::size_t b = 0; b <= static_cast<std::size_t>(blocks_); ++b)
      starts.push_back(before + (matrix.first.empty() ? 0 : matrix.first[b]));
    columns.insert(columns.end(), matrix.columns.begin(), matrix.columns.end());
    numbers.insert(numbers.end(), matrix.numbers.begin(), matrix.numbers.end());
  }
  starts_ = sent(device_, starts);
  columns_ = sent(device_, columns);
  numbers_ = sent(device_, numbers);
}

// As many stretches of targets together as have room for what their pairs find.
template <int D>
void LevelThere<D>::send_pairs(const Level<D>& level, const arrays::Workers& workers) {
  const std::size_t most = kWaitingBytes / static_cast<std::size_t>(bytes_of(numbers()));
  const auto send = [&](std::size_t first, std::size_t last) {
    send_lists(pair_lists<D>(level, first, last, width_, workers));
  };
  std::size_t first = 0, together = 0;
  for (std::size_t stretch = 0; stretch < level.far.size(); ++stretch) {
    const std::size_t own = level.far[stretch].size();
    if (together > 0 && together + own > most) {
      send(first, stretch);
      first = stretch;
      together = 0;
    }
    together += own;
  }
  send(first, level.far.size());
}

template <int D>
void LevelThere<D>::send_lists(const PairLists& lists) {
  if (lists.sources.empty()) return;
  PairsThere out;
  out.first_target = lists.first_target;
  out.targets = static_cast<int>(lists.starts.size()) - 1;
  out.batches = static_cast<int>(lists.batches.size());
  out.count = static_cast<int>(lists.sources.size());
  out.batch = sent(device_, lists.batches);
  out.sources = sent(device_, lists.sources);
  out.starts = sent(device_, lists.starts);
  out.numbers = sent(device_, lists.numbers);
  most_pairs_ = std::max(most_pairs_, out.count);
  pairs_.push_back(std::move(out));
}

template class LevelThere<1>;
template class LevelThere<2>;
template class LevelThere<3>;

}  // namespace far
}  // namespace kernweave
