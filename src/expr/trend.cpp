// Arguments are tried on numbers so close together that no function of a row turns between two of them alone.
#include "expr/trend.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace kernweave {
namespace {

using Function = std::function<double(const double*)>;

constexpr double kSizes[] = {1e-300, 1e-20, 1e-6, 0.01, 0.1, 0.25, 0.5, 0.75, 1,  1.25, 1.5, 1.75, 2,   2.5, 3,
                             3.5,    4,     4.5,  5,    6,   7,    8,   10,   13, 17,   30,  100,  1e3, 1e5, 1e10};

// Numbers of an interval in ascending order, with multiples of what other arguments are: a remainder, say, is even up
// to its divisor.
std::vector<double> numbers_in(const Between& interval, const std::vector<Between>& others) {
  std::vector<double> sizes(std::begin(kSizes), std::end(kSizes)), numbers{0};
  for (const Between& other : others)
    for (const double end : {std::fabs(other.least), std::fabs(other.most)})
      for (const double times : {0.5, 1.0, 1.5, 2.0, 3.0})
        if (std::isfinite(end)) sizes.push_back(end * times);
  for (const double size : sizes) numbers.insert(numbers.end(), {size, -size});
  for (const double end : {interval.least, interval.most})
    if (std::isfinite(end)) numbers.push_back(end);
  const auto outside = [&](double x) {
    return x < interval.least || x > interval.most || (interval.whole && x != std::floor(x));
  };
  numbers.erase(std::remove_if(numbers.begin(), numbers.end(), outside), numbers.end());
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// Calls visit with all combinations of numbers, the last changing first.
void for_all(const std::vector<std::vector<double>>& numbers, const std::function<void(double*)>& visit) {
  std::vector<double> at(numbers.size());
  const std::function<void(std::size_t)> turn = [&](std::size_t k) {
    if (k == numbers.size()) return visit(at.data());
    for (const double x : numbers[k]) {
      at[k] = x;
      turn(k + 1);
    }
  };
  turn(0);
}

Trend trend_in(const Function& f, std::vector<std::vector<double>> numbers, std::size_t k) {
  const std::vector<double> along = numbers[k];
  numbers[k] = {along[0]};
  bool up = true, down = true;
  for_all(numbers, [&](double* at) {
    double before = f(at);
    for (const double x : along) {
      at[k] = x;
      const double here = f(at);
      up = up && before <= here;
      down = down && before >= here;
      before = here;
    }
    at[k] = along[0];
  });
  return up && down ? Trend::flat : up ? Trend::grows : down ? Trend::falls : Trend::uneven;
}

Tried untold(std::size_t args) { return {std::vector<Trend>(args, Trend::uneven), {-HUGE_VAL, HUGE_VAL}}; }

Tried try_function(const Function& f, const std::vector<Between>& args) {
  std::vector<std::vector<double>> numbers;
  for (std::size_t k = 0; k < args.size(); ++k) {
    std::vector<Between> others = args;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    numbers.push_back(numbers_in(args[k], others));
  }
  for (const auto& some : numbers)
    if (some.empty()) return untold(args.size());
  Tried found{{}, {HUGE_VAL, -HUGE_VAL, true}};
  for (std::size_t k = 0; k < args.size(); ++k) found.trends.push_back(trend_in(f, numbers, k));
  for (std::size_t k = 0; k < args.size(); ++k)
    for (const double end : {args[k].least, args[k].most})
      if (std::isinf(end)) numbers[k].push_back(end);
  for_all(numbers, [&](double* at) {
    const double value = f(at);
    if (!(value == value)) return;
    found.value.least = std::min(found.value.least, value);
    found.value.most = std::max(found.value.most, value);
    found.value.whole = found.value.whole && value == std::floor(value);
  });
  return found;
}

double value_of(const OpRow& op, const double* at) {
  const Lane in[] = {Lane(at[0]), Lane(op.arity > 1 ? at[1] : 0.0), Lane(op.arity > 2 ? at[2] : 0.0)};
  return op.value(in).v;
}
// Of a step of a fold: what came before first, then its arguments.
double next_of(const OpRow& op, const double* at) {
  const Lane in[] = {Lane(at[1]), Lane(op.arity == 2 ? at[2] : 0.0)};
  return op.next(Lane(at[0]), in).v;
}

// All numbers of the signs that an interval has.
Between of_signs(const Between& i) {
  return {i.least < 0 ? -HUGE_VAL : 0, i.most > 0 ? HUGE_VAL : 0, i.whole};
}

// The steps of a fold are alike: what the first leaves is of the signs that all leave, or they are not told.
Tried try_fold(const Function& next, double start, const std::vector<Between>& args) {
  std::vector<Between> with_start{{start, start}};
  with_start.insert(with_start.end(), args.begin(), args.end());
  with_start[0] = of_signs(try_function(next, with_start).value);
  Tried found = try_function(next, with_start);
  const bool goes_on = found.trends[0] == Trend::grows || found.trends[0] == Trend::flat;
  found.trends.erase(found.trends.begin());
  found.value = of_signs(found.value);
  if (!goes_on) std::fill(found.trends.begin(), found.trends.end(), Trend::uneven);
  return found;
}

}  // namespace

Trend opposite(Trend trend) {
  return trend == Trend::grows ? Trend::falls : trend == Trend::falls ? Trend::grows : trend;
}

Trend both(Trend a, Trend b) { return a == Trend::flat || a == b ? b : b == Trend::flat ? a : Trend::uneven; }

Tried try_out(const OpRow& op, const std::vector<Between>& args) {
  if (op.form == Form::elementwise) return try_function([&](const double* at) { return value_of(op, at); }, args);
  if (op.form == Form::fold) return try_fold([&](const double* at) { return next_of(op, at); }, op.start().v, args);
  return untold(args.size());
}

Tried try_difference(const OpRow& op, std::vector<Between> args, std::size_t at) {
  args[at] = {0, HUGE_VAL};
  Tried found = try_out(op, args);
  if (op.form != Form::elementwise && op.form != Form::fold) return found;
  bool even = true;
  std::vector<std::vector<double>> numbers;
  for (std::size_t k = 0; k < args.size(); ++k) numbers.push_back(numbers_in(args[k], {}));
  for_all(numbers, [&](double* x) {
    const auto value = [&] {
      double all[4] = {op.form == Form::fold ? 0.25 : 0};
      std::copy(x, x + args.size(), all + (op.form == Form::fold ? 1 : 0));
      return op.form == Form::fold ? next_of(op, all) : value_of(op, all);
    };
    const double here = value();
    x[at] = -x[at];
    even = even && here == value();
    x[at] = -x[at];
  });
  if (!even) found.trends[at] = Trend::uneven;
  return found;
}

// One of the points is 0, as the row's `differences` allows.
Tried try_points(const OpRow& op) {
  const bool folds = op.form == Form::fold;
  if (!op.differences) return untold(1);
  const auto value = [&](double acc, double x, double y) {
    const double in[] = {acc, x, y, 0};
    return folds ? next_of(op, in) : value_of(op, in + 1);
  };
  bool even = true;
  for (const double size : kSizes)
    for (const double acc : {0.0, 0.25, 7.0})
      even = even && value(acc, size, 0) == value(acc, -size, 0) && value(acc, size, 0) == value(acc, 0, size);
  const Function next = [&](const double* at) { return value(at[0], at[1], 0); };
  const Function alone = [&](const double* at) { return value(0, at[0], 0); };
  const std::vector<Between> size{{0, HUGE_VAL}};
  Tried found = folds ? try_fold(next, op.start().v, size) : try_function(alone, size);
  if (!even) found.trends[0] = Trend::uneven;
  return found;
}

}  // namespace kernweave
