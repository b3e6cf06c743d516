// The data of a call: the matrix of each operand, a view for each variable of a plan, and the numbers of points.
#pragma once
#include <cstdint>
#include <vector>
#include "execute/host.hpp"
#include "pairs/pair_map.hpp"
#include "plan/plan.hpp"
#include "schedule/facts.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// The numbers of an operand, by columns; an operand that is read as a parameter has one row.
struct OperandData {
  enum class State { there, none, damaged } state = State::there;
  View view{};
  bool resident = false;  // do they lie on a device because the user put them there?
  // The extents along outer axes, if the view is the first of several matrices; an extent of 1 goes with any extent.
  std::vector<std::int64_t> outer{};
};

// The numbers of i and j as far as the formula tells them; -1 where it does not.
struct Known {
  std::int64_t i = -1, j = -1;
  ExistingPairs pairs{};
};

// Views of the plan's variables. Data on a device are copied to the host when on_host() is called.
class Data {
 public:
  Data(const Plan& plan, const std::vector<OperandData>& operands, Host* host);

  const std::vector<View>& views() const { return views_; }
  // Returns the views of a run for a point of all outer axes, which are counted together, the first fastest.
  std::vector<View> views_at(const std::vector<std::int64_t>& outer, std::int64_t point) const;
  const View& on_host(std::size_t k);
  void all_on_host();
  // Replaces a view, if the plan reads the results of another plan or an operand has other numbers.
  void put(std::size_t k, const View& view) { views_[k] = view; }
  // Tells whether all data of points lie on a device because the user put them there.
  bool resident() const;
  // Returns the place of most numbers of the data.
  Home home() const;

 private:
  View view_of(const Variable& v, const OperandData& operand) const;

  const Plan& plan_;
  const std::vector<OperandData>& operands_;
  Host* host_;
  std::vector<View> views_;
};

// Returns the sizes from `known` and the variables read along their own axis, which must agree.
Sizes sizes_of(const Plan& plan, const std::vector<OperandData>& operands, const std::vector<View>& views,
               const Known& known);

// Tells whether a variable is an operand, not a row number or another plan's result.
inline bool has_operand(const Variable& v) { return v.source == Source::data && v.operand < Variable::kResults; }
inline bool is_pairwise(const Variable& v) { return v.axis == Axis::pair || v.axis == Axis::pair_swapped; }

// --- facts ---------------------------------------------------------------------------------------------------------
// Finds facts of the data before a schedule is chosen: centres, and the facts that conditions ask for.

// Fails with Fault::index if row numbers lie outside the data they point into.
Findings findings_for(const Plan& plan, const Sizes& sizes, Boxes boxes, Data* data);
// Checks row numbers alone, for decisions that are given; growths_for() proves the facts that boxes depend on.
void check_row_numbers(const Plan& plan, const Sizes& sizes, Data* data);
Growths growths_for(const Plan& plan, const Variant& variant, Data* data);

// Computes the centre and the reach of points that lie on a device alone before they are needed: an answer waits for
// all work that the device has been given.
void find_middle_and_reach(const View& points);

// Tells whether the decisions depend on an operand's numbers.
bool asks_of(const Plan& plan, const Sizes& sizes, int operand);

}  // namespace kernweave
