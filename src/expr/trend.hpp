// How the value of an operation changes as one argument grows: found by trying, like other facts of its row.
#pragma once
#include <string>
#include <vector>
#include "expr/table.hpp"

namespace kernweave {

// What a value may be: numbers from `least` to `most`, whole ones alone if `whole`.
struct Between {
  double least, most;
  bool whole = false;
};

// `uneven`: now this, now that, or NaN. `flat`: not at all.
enum class Trend { uneven, flat, grows, falls };

Trend opposite(Trend trend);
// Of a value that two others make, each of which it follows: what they agree on.
Trend both(Trend a, Trend b);

// What is found of a value with arguments from these intervals; of a fold after some steps, where `args` are those of
// one step.
struct Tried {
  std::vector<Trend> trends;  // for each argument
  Between value;
};
Tried try_out(const OpRow& op, const std::vector<Between>& args);

// The same of a value of two points, or of a difference in place of argument `at`: as a function of the size of their
// difference, from 0 on. Uneven where its sign, or the points themselves, make a difference.
Tried try_difference(const OpRow& op, std::vector<Between> args, std::size_t at);
Tried try_points(const OpRow& op);

}  // namespace kernweave
