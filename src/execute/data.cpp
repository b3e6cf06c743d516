// Checks the shapes of operands against the plan. Facts are stored with the data (`Kept`), if the data have this store.
#include "execute/data.hpp"

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "reference/reference.hpp"
#include "schedule/choose.hpp"

namespace kernweave {
namespace {

// The extents of i and j: from the formula, then from each variable that is read along its own axis.
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

// Broadcasts extents of outer axes: an extent of 1 goes with any extent.
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
  // Parameters are always on the host: schedules depend on them.
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
  double there = 0;  // the count of numbers on the device less the count on the host
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

// --- facts ---------------------------------------------------------------------------------------------------------

namespace {

// Returns the copy of a single matrix whose numbers lie on a device alone, else null.
const Copy* copy_elsewhere(const View& view) {
  if (view.data || view.all > 0 || !view.kept || view.kept->copies.empty()) return nullptr;
  return view.kept->copies.begin()->second.get();
}

// Returns the points of a view; data of pairs are points of one component.
View cloud_of(const View& view, bool pairwise) {
  return pairwise ? View{view.data, view.numbers(), 1, view.kept} : view;
}

// Returns the centre of points that stay on their device, if their rows can be read there.
std::optional<std::vector<double>> centre_elsewhere(const View& cloud) {
  const Copy* const copy = copy_elsewhere(cloud);
  if (!copy) return {};
  const std::int64_t step = step_of_centre(cloud.rows);
  const std::optional<std::vector<double>> some = copy->some_rows(cloud, step);
  if (!some) return {};
  return centre_of({some->data(), (cloud.rows + step - 1) / step, cloud.columns});
}

std::optional<double> reach_elsewhere(const View& view, const std::vector<double>& centre) {
  const Copy* const copy = copy_elsewhere(view);
  return copy ? copy->reach(view, centre) : std::nullopt;
}

// Returns matrix `number` of several matrices in memory of the host.
View matrix(const View& first, std::int64_t number) {
  View one = first;
  one.data += number * first.rows * first.columns;
  return one;
}

// Returns the centre of all matrices, as if the matrices lay one below the other.
std::vector<double> centre_of_matrices(const View& first) {
  const std::int64_t all = first.rows * first.matrices(), step = step_of_centre(all), rows = (all + step - 1) / step;
  std::vector<double> some;
  for (std::int64_t c = 0; c < first.columns; ++c)
    for (std::int64_t r = 0; r < all; r += step)
      some.push_back(matrix(first, r / first.rows).data[r % first.rows + c * first.rows]);
  return centre_of({some.data(), rows, first.columns});
}

// Returns the centre of a variable's data; computes it once for data with a store.
std::vector<double> middle_of(const Plan& plan, std::size_t k, Data* data) {
  const View& view = data->views()[k];
  if (view.sparse()) return {0.0};
  const bool pairwise = is_pairwise(plan.variables[k]);
  const View cloud = cloud_of(view, pairwise);
  if (view.kept && view.kept->middle.size() == static_cast<std::size_t>(cloud.columns)) return view.kept->middle;
  const std::optional<std::vector<double>> found = centre_elsewhere(cloud);
  const std::vector<double> middle = found ? *found : centre_of_matrices(cloud_of(data->on_host(k), pairwise));
  if (view.kept) view.kept->middle = middle;
  return middle;
}

// Returns the variable whose data define the centre of variable k.
std::size_t owner_of_centre(const Plan& plan, std::size_t k) {
  std::size_t owner = 0;
  while (plan.variables[owner].operand != plan.variables[k].centre) ++owner;
  return owner;
}

bool is_centred(const Variable& v) { return v.centre != Variable::kAsItIs; }

// Tells whether parameters differ from run to run.
bool parameters_vary(const Plan& plan, const Data& data) {
  for (std::size_t k = 0; k < plan.variables.size(); ++k)
    if (plan.variables[k].axis == Axis::param && data.views()[k].matrices() != 1) return true;
  return false;
}

// Returns the range of the components of a value that depends on parameters alone.
ValueRange range_of(const Evaluator& evaluator, const Ref& ref) {
  const Read<Lane> read = evaluator.read(ref);
  ValueRange range{read[0].v, read[0].v};
  for (int d = 0; d < ref.width; ++d) {
    if (!(range.least <= read[d].v)) range.least = read[d].v;
    if (!(range.most >= read[d].v)) range.most = read[d].v;
    if (std::isnan(read[d].v)) return {read[d].v, read[d].v};
  }
  return range;
}

// Returns the union of two ranges; NaN if one of them is NaN.
ValueRange both(const ValueRange& a, const ValueRange& b) {
  if (std::isnan(a.least) || std::isnan(b.least)) return std::isnan(a.least) ? a : b;
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

// Returns the range of each factor in a variant's condition, over the parameters of all runs.
std::vector<ValueRange> factors_of(const Plan& plan, const Variant& variant, const Sizes& sizes, const Data& data) {
  std::vector<ValueRange> factors;
  for (std::int64_t run = 0; run < (parameters_vary(plan, data) ? sizes.runs() : 1); ++run) {
    const std::vector<View> views = data.views_at(sizes.outer, run);
    Evaluator evaluator(plan, variant.program, views);
    evaluator.run(Region::param);
    for (std::size_t k = 0; k < variant.condition.size(); ++k) {
      const ValueRange here = range_of(evaluator, variant.condition[k].factor);
      if (run == 0) factors.push_back(here);
      else factors[k] = both(factors[k], here);
    }
  }
  return factors;
}

// Notes the range of a variable. Data on a device are not fetched if their owner knows the range.
void note_kept_range(std::size_t k, Data* data, Facts* facts) {
  const Kept* kept = data->views()[k].kept;
  if (!kept || !kept->range) return note_range({data->on_host(k).data, data->views()[k].numbers(), 1}, facts);
  facts->least = kept->range->least;
  facts->largest = kept->range->most;
}

void note_kept_reach(std::size_t k, const std::vector<double>& centre, Data* data, Facts* facts) {
  Kept* kept = data->views()[k].kept;
  const auto look = [&] {
    const View& first = data->on_host(k);
    for (std::int64_t m = 0; m < first.matrices() && !std::isnan(facts->reach); ++m)
      note_reach(matrix(first, m), centre, facts);
  };
  if (!kept) return look();
  if (kept->centre != centre) {
    if (const auto found = reach_elsewhere(data->views()[k], centre)) facts->reach = *found;
    else look();
    kept->centre = centre;
    kept->reach = facts->reach;
  }
  facts->reach = kept->reach;
}

// Returns the centre that is subtracted from the data of each variable read relative to a centre; empty: nothing.
std::vector<std::vector<double>> centres_for(const Plan& plan, Data* data) {
  std::vector<std::vector<double>> centres(plan.variables.size());
  for (std::size_t k = 0; k < centres.size(); ++k)
    if (is_centred(plan.variables[k])) centres[k] = middle_of(plan, owner_of_centre(plan, k), data);
  return centres;
}

// Returns the centre; 0 for points that are read without a centre.
std::vector<double> centre_or_0(const Variable& v, const std::vector<double>& centre) {
  return centre.empty() ? std::vector<double>(static_cast<std::size_t>(v.width)) : centre;
}

std::vector<Facts> facts_for(const Plan& plan, const Wanted& wanted, const std::vector<std::vector<double>>& centres,
                             Data* data) {
  std::vector<Facts> all;
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    Facts facts;
    facts.rows = data->views()[k].rows;
    if (wanted.range[k]) note_kept_range(k, data, &facts);
    if (wanted.reach[k]) note_kept_reach(k, centre_or_0(plan.variables[k], centres[k]), data, &facts);
    all.push_back(facts);
  }
  return all;
}

}  // namespace

Growths growths_for(const Plan& plan, const Variant& variant, Data* data) {
  Growths growths;
  if (!may_be_bounded(plan, variant) || parameters_vary(plan, *data)) return growths;
  for (std::size_t k = 0; k < plan.variables.size(); ++k)
    if (plan.variables[k].axis == Axis::param) data->on_host(k);
  Evaluator evaluator(plan, variant.program, data->views());
  evaluator.run(Region::param);
  const auto once = [&](const Ref& ref) {
    const ValueRange range = range_of(evaluator, ref);
    return Interval(range.least, range.most);
  };
  for (std::size_t k = 0; k < variant.outputs.size(); ++k) growths.push_back(growth_of(plan, variant, k, once));
  return growths;
}

void check_row_numbers(const Plan& plan, const Sizes& sizes, Data* data) {
  Wanted wanted = wanted_facts(plan, sizes);
  wanted.reach.assign(plan.variables.size(), false);
  check_gathers(plan, sizes, facts_for(plan, wanted, {}, data));
}

Findings findings_for(const Plan& plan, const Sizes& sizes, Boxes boxes, Data* data) {
  const Wanted wanted = wanted_facts(plan, sizes);
  Findings found;
  found.home = data->home();
  found.centres = centres_for(plan, data);
  found.boxes = boxes;
  if (boxes_are_worth_a_thought(boxes, sizes))
    for (const Variant& variant : plan.variants) found.growths.push_back(growths_for(plan, variant, data));
  found.variables = facts_for(plan, wanted, found.centres, data);
  check_gathers(plan, sizes, found.variables);
  for (const Variant& variant : plan.variants) {
    found.factors.emplace_back();
    if (variant.condition.empty() || !wanted.reach[variant.condition[0].variables[0]]) continue;
    found.factors.back() = factors_of(plan, variant, sizes, *data);
  }
  return found;
}

void find_middle_and_reach(const View& points) {
  const std::optional<std::vector<double>> middle = centre_elsewhere(points);
  const std::optional<double> reach = middle ? reach_elsewhere(points, *middle) : std::nullopt;
  if (!reach) return;
  points.kept->middle = points.kept->centre = *middle;
  points.kept->reach = *reach;
}

bool asks_of(const Plan& plan, const Sizes& sizes, int operand) {
  const Wanted wanted = wanted_facts(plan, sizes);
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    const Variable& v = plan.variables[k];
    if (is_centred(v) && plan.variables[owner_of_centre(plan, k)].operand == operand) return true;
    if (v.operand == operand && (wanted.range[k] || wanted.reach[k] || v.axis == Axis::param)) return true;
  }
  return false;
}

}  // namespace kernweave
