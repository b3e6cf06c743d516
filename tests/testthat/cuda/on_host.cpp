// The kernels for pairs of a common kind, carried out by the host: every row of fused.def, in both types of
// numbers, against plain loops in float64 over the same rows of ops.def. What it checks is where numbers lie, tiles,
// rows, weights, splits and lists.
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "on_host.hpp"
#include "kernweave/gpu/fused.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

alignas(16) uint4 shared[1 << 13];

constexpr int kLanes = 150, kSweep = 101, kWidth = 3, kThreads = 32, kTile = 32, kPadded = 112, kWeights = 2,
              kPlaces = 3;
int wrong = 0, right = 0;

double noise(int n) { return 0.05 + 0.9 * std::fabs(std::sin(12.9898 * n + 78.233)); }

template <class Number, Op kFold, template <class> class State, class... Calls>
class Check {
 public:
  using L = Scalar<Number>;
  using Pairs = FusedPairs<Number, kFold, State, Chain<Calls...>>;
  using Long = State<Scalar<double>>;
  static constexpr int kCalls = static_cast<int>(sizeof...(Calls));
  static constexpr bool kLists = Long::storage(1) > 0;

  Check(const char* name, Red reduction, int splits)
      : name_(name),
        reduction_(reduction),
        weights_(State<L>::kAdds ? kWeights : 1),
        places_(kLists ? kPlaces : 1),
        program_(2 + kCalls),
        values_(static_cast<std::size_t>(kLanes * weights_ * places_)) {
    (describe(Calls::kX, Calls::kY), ...);
    program_[0].kind = Kind::fold;
    program_[0].width = kWidth;
    program_[0].in[1] = {0, From::row, 1};
    program_[0].in[2] = {0, From::tile, 1};
    program_[1 + kCalls].in[1] = {kWidth + columns_taken_, From::tile, 1};
    program_[1 + kCalls].width = weights_;
    for (int k = 0; k < kCalls; ++k) once_.push_back(L(0.4 + 0.3 * k));
    for (int n = 0; n < (kWidth + rows_taken_) * kLanes; ++n) rows_.push_back(L(noise(n)));
    for (int n = 0; n < (kWidth + columns_taken_ + weights_) * kPadded; ++n) columns_.push_back(L(noise(7000 + n)));
    run(splits);
    compare();
  }

 private:
  // A call's number comes first in one call and last in the next.
  void describe(int x, int y) {
    Instruction& i = program_[static_cast<std::size_t>(++described_)];
    const bool turned = described_ % 2 == 0;
    i.in[turned] = operand(x);
    i.in[!turned] = operand(y);
  }
  Operand operand(int argument) {
    if (argument == kOnce) return {described_ - 1, From::once, 0};
    if (argument == kOfRow) return {kWidth + rows_taken_++, From::row, 0};
    if (argument == kOfColumn) return {kWidth + columns_taken_++, From::tile, 0};
    return {0, argument == kNoArgument ? From::none : From::strip, 0};
  }

  void run(int splits) {
    const int block = kThreads * Pairs::kRows;
    Outcome outcome{};
    outcome.width = weights_;
    outcome.places = places_;
    outcome.lane = 16 * places_;
    outcome.stride = static_cast<int>((Long::storage(places_) + 7) / 8 * 8);
    outcome.bytes = static_cast<int>(sizeof(Long)) + outcome.stride + 16 * places_;
    outcome.reduction = reduction_;
    std::vector<double> states(static_cast<std::size_t>(splits) * weights_ * kLanes * outcome.bytes / 8 + 1);
    Target target{};
    target.values = values_.data();
    target.factor = 1;
    target.rows = target.stride = kLanes;
    target.states = states.data();
    Script s{};
    s.head.lanes = s.head.rows_held = s.head.rows_here = s.head.to = kLanes;
    s.head.sweep = kSweep;
    s.head.splits = s.head.splits_here = splits;
    s.head.split = splits == 1 ? kSweep : 64;
    s.head.blocks = (kLanes + block - 1) / block;
    s.head.once = once_.data();
    s.head.rows = rows_.data();
    s.head.columns = columns_.data();
    s.outcomes = &outcome;
    s.targets = &target;
    s.pairs = program_.data();
    s.outputs = 1;
    s.column_numbers = kWidth + columns_taken_ + weights_;
    s.tile = kTile;
    s.own = kLists ? (outcome.lane + Pairs::kRows * outcome.stride + 31) / 32 * 32 + 16 : 0;
    s.column_stride = kPadded;
    launch({static_cast<unsigned>(s.head.blocks), static_cast<unsigned>(splits), static_cast<unsigned>(weights_)},
           kThreads, [&] { fused_sweep<Number, kFold, State, Chain<Calls...>>(s); });
    if (splits > 1) launch({(kLanes + kThreads - 1) / kThreads, 1, 1}, kThreads, [&] { script_merge(s); });
  }

  void compare() {
    for (int i = 0; i < kLanes; ++i)
      for (int w = 0; w < weights_; ++w) {
        std::vector<double> storage(static_cast<std::size_t>(Long::storage(places_)) / 8 + 1), found(places_);
        std::vector<Index> where(places_);
        Long state;
        state.init(storage.data(), places_);
        for (int j = 0; j < kSweep; ++j)
          state.step(term(i, j), columns_at(kWidth + columns_taken_ + w, j), j + 1, true);
        state.finish(reinterpret_cast<Scalar<double>*>(found.data()), where.data());
        for (int p = 0; p < places_; ++p)
          expect(values_[static_cast<std::size_t>(i + kLanes * (p + places_ * w))], found[static_cast<std::size_t>(p)],
                 i);
      }
  }
  void expect(double actual, double expected, int row) {
    const double allowed = (sizeof(Number) == 4 ? 2e-5 : 1e-12) * (1 + std::fabs(expected));
    const bool close = std::fabs(actual - expected) <= allowed;
    if (!close && wrong < 20)
      std::printf("%s, %zu bytes, row %d: %.9g instead of %.9g\n", name_, sizeof(Number), row, actual, expected);
    ++(close ? right : wrong);
  }

  Scalar<double> row_at(int n, int i) const {
    return Scalar<double>(static_cast<double>(rows_[static_cast<std::size_t>(n * kLanes + i)].v));
  }
  Scalar<double> columns_at(int n, int j) const {
    return Scalar<double>(static_cast<double>(columns_[static_cast<std::size_t>(n * kPadded + j)].v));
  }

  Scalar<double> term(int i, int j) const {
    using D = Scalar<double>;
    D found[1 + kCalls] = {Called<kFold>::template start<D>()};
    for (int d = 0; d < kWidth; ++d) found[0] = Called<kFold>::next(found[0], row_at(d, i), columns_at(d, j));
    [[maybe_unused]] int call = 0, row = kWidth, column = kWidth;
    [[maybe_unused]] const auto get = [&](int argument) {
      if (argument == kOnce) return D(static_cast<double>(once_[static_cast<std::size_t>(call)].v));
      if (argument == kOfRow) return row_at(row++, i);
      if (argument == kOfColumn) return columns_at(column++, j);
      return argument == kNoArgument ? D(0.0) : found[argument];
    };
    [[maybe_unused]] const auto one = [&](auto which) {
      using Now = decltype(which);
      const D x = get(Now::kX), y = get(Now::kY);
      found[++call] = Called<Now::kOp>::eval(x, y);
    };
    (one(Calls()), ...);
    return found[kCalls];
  }

  const char* name_;
  const Red reduction_;
  const int weights_, places_;
  std::vector<Instruction> program_;
  std::vector<double> values_;
  std::vector<L> once_, rows_, columns_;
  int described_ = 0, rows_taken_ = 0, columns_taken_ = 0;
};

template <class Number, Op kFold, template <class> class State, class... Calls>
void check(const char* name, Red reduction, Chain<Calls...>) {
  for (int splits : {1, 2}) Check<Number, kFold, State, Calls...>(name, reduction, splits);
}

void check_all() {
#define FUSED(name, fold, reduction, ...) \
  check<float, Op::fold, red::reduction>(#name, Red::reduction, __VA_ARGS__()); \
  check<double, Op::fold, red::reduction>(#name, Red::reduction, __VA_ARGS__());
#include "kernweave/fused.def"
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave

int main() {
  kernweave::gpu::check_all();
  std::printf("%d right, %d wrong\n", kernweave::gpu::right, kernweave::gpu::wrong);
  return kernweave::gpu::wrong > 0;
}
