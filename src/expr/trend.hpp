// How the value of an operation changes as one argument grows: proved by the slopes of its row.
#pragma once
#include <vector>
#include "expr/interval.hpp"
#include "expr/table.hpp"

namespace kernweave {

// `uneven`: now this, now that, or not known. `flat`: not at all.
enum class Trend { uneven, flat, grows, falls };

Trend opposite(Trend trend);
// Of a value that two others make, each of which it follows: what they agree on.
Trend both(Trend a, Trend b);

// What is proved of a value with arguments from these intervals; of a fold after some steps, where `args` are those of
// one step.
struct Proved {
  std::vector<Trend> trends;  // for each argument
  Interval value;
};
Proved trends_of(Op op, const std::vector<Interval>& args);

// The same of a value of two points, or of a difference in place of argument `at`: as a function of the size of their
// difference, from 0 on. Uneven where its sign, or the points themselves, make a difference.
Proved trends_of_difference(Op op, std::vector<Interval> args, std::size_t at);
Proved trends_of_points(Op op);

}  // namespace kernweave
