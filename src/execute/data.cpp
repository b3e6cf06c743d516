// Shapes are held against the plan before anything is computed.
#include "execute/data.hpp"

#include <string>

#include "base/error.hpp"

namespace kernweave {
namespace {

// The extents of i and j, from whoever knows them: the formula, then each variable read along its own axis.
class Extents {
 public:
  explicit Extents(const Known& known) {
    if (known.i >= 0) note(0, known.i, "the formula");
    if (known.j >= 0) note(1, known.j, "the formula");
  }

  void note(const Variable& v, const View& view) {
    if (v.axis == Axis::i) note(0, view.rows, v.name);
    if (v.axis == Axis::j) note(1, view.rows, v.name);
    if (!is_pairwise(v)) return;
    const bool across = v.axis == Axis::pair_swapped;
    note(0, across ? view.columns : view.rows, v.name);
    note(1, across ? view.rows : view.columns, v.name);
  }

  Sizes sizes() const { return {extent_[0] < 0 ? 1 : extent_[0], extent_[1] < 0 ? 1 : extent_[1], {}}; }

 private:
  void note(int axis, std::int64_t extent, const std::string& name) {
    const char* letter = axis == 0 ? "i" : "j";
    user_check(extent_[axis] < 0 || extent_[axis] == extent, Fault::shape, "`", name, "` has ", extent,
               " points along ", letter, ", but `", who_[axis], "` has ", extent_[axis]);
    extent_[axis] = extent;
    who_[axis] = name;
  }

  std::int64_t extent_[2] = {-1, -1};
  std::string who_[2];
};

std::string name_of(const Plan& plan, std::size_t operand) {
  for (const Variable& v : plan.variables)
    if (has_operand(v) && v.operand == static_cast<int>(operand)) return sentence("`", v.name, "`");
  return "an operand";
}

// Along each outer axis 1 goes with any number.
void meet(const std::vector<std::int64_t>& own, const std::string& name, std::vector<std::int64_t>* all) {
  if (all->size() < own.size()) all->resize(own.size(), 1);
  for (std::size_t a = 0; a < own.size(); ++a) {
    std::int64_t& extent = (*all)[a];
    user_check(own[a] == 1 || extent == 1 || own[a] == extent, Fault::shape, name, " has ", own[a],
               " batches along batch axis ", a + 1, ", others have ", extent);
    if (own[a] != 1) extent = own[a];
  }
}

}  // namespace

Data::Data(const Plan& plan, const std::vector<OperandData>& operands, Host* host)
    : plan_(plan), operands_(operands), host_(host) {
  for (const Variable& v : plan.variables) {
    if (!has_operand(v)) {
      views_.emplace_back();
      continue;
    }
    internal_check(v.operand < static_cast<int>(operands.size()), "data for ", operands.size(), " operands where `",
                   v.name, "` is another");
    views_.push_back(view_of(v, operands[static_cast<std::size_t>(v.operand)]));
  }
}

View Data::view_of(const Variable& v, const OperandData& operand) const {
  user_check(operand.state != OperandData::State::none, Fault::shape, "`", v.name, "` has no data");
  internal_check(operand.state != OperandData::State::damaged, "a damaged sparse matrix `", v.name, "`");
  View view = operand.view;
  Sizes matrices;
  matrices.outer = operand.outer;
  if (!operand.outer.empty()) view.all = view.rows * view.columns * matrices.runs();
  internal_check(!view.sparse() || is_pairwise(v), "a sparse matrix that is not one of pairs");
  // Parameters are always here: schedules depend on them.
  if (v.axis == Axis::param) {
    View parameter{view.data ? view.data : host_->on_host(v.operand), 1, view.rows * view.columns};
    parameter.all = view.all;
    return parameter;
  }
  internal_check(!is_pairwise(v) || v.width == 1, "a matrix of pairs with ", v.width, " components");
  user_check(is_pairwise(v) || view.columns == v.width, Fault::shape, "`", v.name, "` has ", view.columns,
             view.columns == 1 ? " column" : " columns", ", but the formula was built for ", v.width);
  return view;
}

std::vector<View> Data::views_at(const std::vector<std::int64_t>& outer, std::int64_t point) const {
  std::vector<View> moved = views_;
  for (std::size_t k = 0; k < moved.size(); ++k) {
    View& view = moved[k];
    if (view.all == 0) continue;
    const std::vector<std::int64_t>& own = operands_[static_cast<std::size_t>(plan_.variables[k].operand)].outer;
    std::int64_t left = point, step = view.rows * view.columns;
    for (std::size_t a = 0; a < own.size(); step *= own[a], left /= outer[a], ++a)
      if (own[a] > 1) view.before += left % outer[a] * step;
    if (view.data) view.data += view.before;
  }
  return moved;
}

const View& Data::on_host(std::size_t k) {
  View& view = views_[k];
  const Variable& v = plan_.variables[k];
  if (!view.data && has_operand(v)) view.data = host_->on_host(v.operand);
  return view;
}

void Data::all_on_host() {
  for (std::size_t k = 0; k < views_.size(); ++k) on_host(k);
}

bool Data::resident() const {
  bool any = false;
  for (const Variable& v : plan_.variables) {
    if (!has_operand(v) || v.axis == Axis::param) continue;
    if (!operands_[static_cast<std::size_t>(v.operand)].resident) return false;
    any = true;
  }
  return any;
}

Home Data::home() const {
  double there = 0;  // numbers of the device less those of the host
  for (std::size_t k = 0; k < views_.size(); ++k) {
    const Variable& v = plan_.variables[k];
    if (!has_operand(v) || v.axis == Axis::param) continue;
    const auto numbers = static_cast<double>(views_[k].numbers());
    there += operands_[static_cast<std::size_t>(v.operand)].resident ? numbers : -numbers;
  }
  return there > 0 ? Home::device : Home::host;
}

Sizes sizes_of(const Plan& plan, const std::vector<OperandData>& operands, const std::vector<View>& views,
               const Known& known) {
  Extents extents(known);
  for (std::size_t k = 0; k < views.size(); ++k)
    if (plan.direct[k] && plan.variables[k].source == Source::data) extents.note(plan.variables[k], views[k]);
  Sizes sizes = extents.sizes();
  for (std::size_t k = 0; k < operands.size(); ++k) meet(operands[k].outer, name_of(plan, k), &sizes.outer);
  return sizes;
}

}  // namespace kernweave
