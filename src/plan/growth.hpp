// Proves that an output's value depends on points through their differences and numbers of folded points alone, and is
// monotone in the size of each, so that the value has bounds over boxes of points.
#pragma once
#include <functional>
#include <vector>
#include "base/error.hpp"
#include "expr/course.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// Two values of one width, one of each axis, that are subtracted component by component.
struct Difference {
  Ref row, column;
};

// A number of each folded point in which the value is monotone: it increases (`grows`) or decreases.
struct FoldedPart {
  Ref of_point;
  bool grows;
};
// The largest absolute value of a part for which bounds hold.
constexpr double kMostOfPart = 1e150;

struct Growth {
  Ref value{};  // the bounded value: the output's, or v if the output's is `if (condition) v else neutral element`
  Verdict verdict = Verdict::no("");
  bool grows = true;  // with the sizes of differences; false: decreases
  std::vector<Difference> differences;
  std::vector<FoldedPart> parts{};

  int components() const;
};

bool operator==(const Growth& a, const Growth& b);
inline bool same_value(const Ref& a, const Ref& b) { return a.from == b.from && a.index == b.index; }

// Returns the interval of the components of a value that is the same for all points.
using OnceBounds = std::function<Interval(const Ref&)>;

// Tells whether a variant's outputs may have bounds: no data of pairs are read; each output has one component and no
// weight, and its reduction ignores some terms or adds up exponentials. A reduction over both axes must not return row
// numbers.
bool adds_exponentials(const Output& output);
bool may_be_bounded(const Plan& plan, const Variant& variant);
Growth growth_of(const Plan& plan, const Variant& variant, std::size_t output, const OnceBounds& once);

// The growth of each output of a variant. Boxes are used for all outputs, or for none.
using Growths = std::vector<Growth>;
Verdict verdict_of(const Growths& growths);

}  // namespace kernweave
