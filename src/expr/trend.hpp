// How the value of an operation changes as one argument grows: proved by the slopes of its row.
#pragma once
#include <vector>
#include "expr/interval.hpp"
#include "expr/table.hpp"

namespace kernweave {

// `uneven`: now this, now that, or not known. `flat`: not at all.
enum class Trend { uneven, flat, grows, falls };

Trend opposite(Trend trend);
// Returns the trend of a value that follows two others: the trend on which both agree.
Trend both(Trend a, Trend b);

// The trends and the interval proved of a value with arguments from these intervals; of a fold, after some steps, where
// `args` are the arguments of one step.
struct Proved {
  std::vector<Trend> trends;  // for each argument
  Interval value;
};
Proved trends_of(Op op, const std::vector<Interval>& args);

// Finds the trends of a value of two points, or of a difference in place of argument `at`, as a function of the size of
// their difference, from 0 on. Uneven where its sign, or the points themselves, matter.
Proved trends_of_difference(Op op, std::vector<Interval> args, std::size_t at);
Proved trends_of_points(Op op);

}  // namespace kernweave
