// Whether the value of an output depends on points by their differences and by numbers of folded points alone, and
// grows, or falls, when one of these does: what lets boxes of points bound it.
#pragma once
#include <functional>
#include <vector>
#include "base/error.hpp"
#include "expr/course.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// Two values, one of each axis, of which all components are taken off each other, one by one.
struct Difference {
  Ref row, column;
};

// A number of each point of the folded axis with which the value grows, or falls.
struct FoldedPart {
  Ref of_point;
  bool grows;
};
// Parts are finite up to this size.
constexpr double kMostOfPart = 1e150;

struct Growth {
  Ref value{};  // what is bounded: the output's value, or, where this says nothing if a condition is false, the rest
  Verdict verdict = Verdict::no("");
  bool grows = true;  // or falls, as differences grow
  std::vector<Difference> differences;
  std::vector<FoldedPart> parts{};

  int components() const;
};

bool operator==(const Growth& a, const Growth& b);
inline bool same_value(const Ref& a, const Ref& b) { return a.from == b.from && a.index == b.index; }

// `once`: the interval of the components of a value that is the same for all points.
using OnceBounds = std::function<Interval(const Ref&)>;

// Could a variant's outputs be bounded at all? Each of one component, to whose reduction not all terms matter, or that
// adds up exponentials without weights, and no data of pairs. Over both axes a row has what is found along one: no
// numbers of pairs may be asked for.
bool adds_exponentials(const Output& output);
bool may_be_bounded(const Plan& plan, const Variant& variant);
Growth growth_of(const Plan& plan, const Variant& variant, std::size_t output, const OnceBounds& once);

// The growth of each output of a variant. Boxes are for all outputs, or none.
using Growths = std::vector<Growth>;
Verdict verdict_of(const Growths& growths);

}  // namespace kernweave
