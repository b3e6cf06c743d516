// Finds the radial form of a formula. All paths from the points to the value go through one squared distance, which is
// found in the steps of the plan.
#include "distance/radial_form.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "distance/polynomial.hpp"
#include "distance/radial_steps.hpp"
#include "plan/passes.hpp"
#include "reference/reference.hpp"

namespace kernweave {
namespace distance {

namespace {

class RadialRecogniser {
 public:
  RadialRecogniser(const Plan& plan, const std::vector<View>& data, const arrays::Workers& workers)
      : plan_(plan), data_(data), workers_(workers) {}

  void recognise_radial(std::int64_t rows, std::int64_t columns, RadialForm* form) {
    for (const Variable& v : plan_.variables)
      if (v.source == Source::counter) throw NotRadial{"it knows row numbers"};
    Evaluator numbers(plan_, plan_.variants.back().program, data_);
    numbers.run(Region::param);
    const Ref& value = plan_.variants.back().outputs[0].value;
    RadialSteps steps(Origins(plan_, data_, numbers), &form->profile);
    RadialProduct whole = steps.whole(value);
    const PointDifference& difference = steps.difference();
    const bool has_distance = !difference.components().empty();
    if (!has_distance && whole.adds_up) throw no_function(*whole.adds_up);
    if (!has_distance) throw NotRadial{"it has no distance of points along i and j"};
    const bool wide = std::any_of(whole.columns.begin(), whole.columns.end(), is_wide);
    if (wide) throw NotRadial{"a factor along j has several components, as a weight may, or what is multiplied"};
    PrincipalAxes axes(steps.square().is_nothing() ? plain_square(difference) : steps.square());
    form->width = axes.width();
    form->power = whole.degree();
    form->adds_up = whole.adds_up.has_value();
    form->components = whole.adds_up ? static_cast<int>(whole.polynomials.size()) : value.width;
    if (form->components == 1 && form->power == 0) {
      form->profile.end_with(steps.place_of(whole));
    } else {
      whole.polynomials.resize(static_cast<std::size_t>(form->components), whole.polynomials.back());
      form->numbers = axes.numbers_of(whole.polynomials, form->power);
      form->profile.end_with(steps.place_of({{}, {}, {Polynomial::number(1)}, whole.place}));
    }
    take_sides(rows, columns, difference, axes, whole, form);
  }

 private:
  static bool is_wide(const Factor& factor) { return factor.components.size() > 1; }
  static Polynomial plain_square(const PointDifference& difference) {
    Polynomial square;
    for (int k = 0; k < static_cast<int>(difference.components().size()); ++k) {
      const Polynomial one = Polynomial::component(k, 1);
      square.add(one * one, 1);
    }
    return square;
  }

  // The points of a side, each component as a sum of atoms times numbers; and the factors of the side.
  struct PointSums {
    Region region;
    std::vector<std::vector<std::pair<Atom, double>>> sums;
    const std::vector<Factor>* factors;
  };
  void take_sides(std::int64_t rows, std::int64_t columns, const PointDifference& difference, const PrincipalAxes& axes,
                  const RadialProduct& whole, RadialForm* form) const {
    PointSums of_rows{Region::row, {}, &whole.rows}, of_columns{Region::column, {}, &whole.columns};
    std::vector<double> shifts;  // constants of rows
    for (const int k : axes.components()) {
      const Combination& one = difference.components()[static_cast<std::size_t>(k)];
      of_rows.sums.emplace_back(one.rows.begin(), one.rows.end());
      shifts.push_back(one.constant);
      of_columns.sums.emplace_back(one.columns.begin(), one.columns.end());
      for (auto& term : of_columns.sums.back()) term.second = -term.second;
    }
    // Values that are read once all steps have run must keep their slots until then.
    std::vector<Ref> read;
    for (const PointSums* wanted : {&of_rows, &of_columns}) {
      for (const auto& sum : wanted->sums)
        for (const auto& term : sum) read.push_back(term.first.ref);
      for (const Factor& factor : *wanted->factors) read.push_back(factor.ref);
    }
    const Program program = assign_slots(plan_.variants.back().program, read);
    Evaluator evaluator(plan_, program, data_);
    evaluator.run(Region::param);
    const std::optional<ColumnSums> row_sums = data_of(of_rows, rows), column_sums = data_of(of_columns, columns);
    const bool are_shared = row_sums && row_sums == column_sums && !is_moved(shifts);
    const bool stay = axes.is_plain() && !is_moved(shifts);
    const auto points_of = [&](const PointSums& wanted, const std::optional<ColumnSums>& sums, std::int64_t count) {
      if (!stay || !sums || !lie_together(*sums, count)) return points(wanted, sums, count, evaluator);
      const DataColumn& first = (*sums)[0][0];
      return std::make_shared<Points>(*first.data, first.component, static_cast<std::size_t>(count) * sums->size());
    };
    form->rows = {rows, points_of(of_rows, row_sums, rows), factors(of_rows, rows, form->components, evaluator),
                 data_along(Axis::i, rows)};
    form->columns = {columns, are_shared ? form->rows.points : points_of(of_columns, column_sums, columns),
                    factors(of_columns, columns, 1, evaluator), data_along(Axis::j, columns)};
    if (!stay) put_along(axes, shifts, form);
  }

  // Returns the data that are read along an axis directly, not by row numbers.
  std::vector<NamedData> data_along(Axis axis, std::int64_t count) const {
    std::vector<NamedData> out;
    for (std::size_t k = 0; k < data_.size(); ++k) {
      const View& view = data_[k];
      const Variable& variable = plan_.variables[k];
      const bool is_dense = view.data && !view.sparse() && view.rows == count;
      if (variable.axis == axis && plan_.direct[k] && is_dense) out.push_back({variable.name, view});
    }
    return out;
  }

  // Points that need no step: for each component, columns of data times numbers.
  struct DataColumn {
    const View* data;
    int component;
    double times;
    const double* numbers() const { return data->data + component * data->rows; }
    bool operator==(const DataColumn& other) const { return numbers() == other.numbers() && times == other.times; }
  };
  using ColumnSums = std::vector<std::vector<DataColumn>>;
  std::optional<ColumnSums> data_of(const PointSums& wanted, std::int64_t count) const {
    ColumnSums out;
    for (const auto& sum : wanted.sums) {
      out.emplace_back();
      for (const auto& [atom, times] : sum) {
        if (atom.ref.from != Ref::From::variable) return {};
        const View& view = data_[static_cast<std::size_t>(atom.ref.index)];
        const Axis axis = plan_.variables[static_cast<std::size_t>(atom.ref.index)].axis;
        const bool is_own = axis == (wanted.region == Region::row ? Axis::i : Axis::j);
        if (!is_own || !view.data || view.sparse() || view.rows != count) return {};
        out.back().push_back({&view, atom.ref.width == 1 ? 0 : atom.component, times});
      }
    }
    return out;
  }

  // Tells whether each sum is one column of data as it is, and the columns are contiguous.
  static bool lie_together(const ColumnSums& sums, std::int64_t count) {
    for (std::size_t d = 0; d < sums.size(); ++d) {
      if (sums[d].size() != 1) return false;
      const double* const own = sums[0][0].numbers() + static_cast<std::int64_t>(d) * count;
      if (sums[d][0].numbers() != own || sums[d][0].times != 1) return false;
    }
    return !sums.empty();
  }

  std::shared_ptr<Points> points(const PointSums& wanted, const std::optional<ColumnSums>& sums, std::int64_t count,
                                 const Evaluator& evaluator) const {
    auto out = std::make_shared<Points>(static_cast<std::size_t>(count) * wanted.sums.size());
    if (sums) add_up(*sums, count, out->found());
    else
      each_point(wanted.region, count, evaluator, [&](Index p, const Evaluator& at) {
        for (std::size_t d = 0; d < wanted.sums.size(); ++d) {
          double sum = 0;
          for (const auto& [atom, times] : wanted.sums[d])
            sum += times * at.read(atom.ref)[atom.ref.width == 1 ? 0 : atom.component].v;
          out->found()[static_cast<Index>(d) * count + p] = sum;
        }
      });
    return out;
  }
  void add_up(const ColumnSums& sums, std::int64_t count, double* out) const {
    arrays::each_piece(workers_, count, [&](Index, Index first, Index last) {
      for (std::size_t d = 0; d < sums.size(); ++d)
        for (Index p = first; p < last; ++p) {
          double sum = 0;
          for (const DataColumn& column : sums[d]) sum += column.times * column.numbers()[p];
          out[static_cast<Index>(d) * count + p] = sum;
        }
    });
  }

  std::vector<double> factors(const PointSums& wanted, std::int64_t count, int components,
                              const Evaluator& evaluator) const {
    const std::vector<Factor>& all = *wanted.factors;
    if (all.empty()) return {};
    const int many = std::any_of(all.begin(), all.end(), is_wide) ? components : 1;
    std::vector<double> out(static_cast<std::size_t>(count * many));
    each_point(wanted.region, count, evaluator, [&](Index p, const Evaluator& at) {
      for (int d = 0; d < many; ++d) out[static_cast<std::size_t>(p + d * count)] = product(all, d, at);
    });
    return out;
  }

  // Calls f(point, evaluator) for each point, after the evaluator has run the steps of its side.
  template <class F>
  void each_point(Region region, std::int64_t count, const Evaluator& evaluator, F f) const {
    arrays::each_piece(workers_, count, [&](Index, Index first, Index last) {
      Evaluator own = evaluator;
      for (Index p = first; p < last; ++p) {
        if (region == Region::row) own.at_row(p);
        else own.at_column(p);
        own.run(region);
        f(p, own);
      }
    });
  }

  static bool is_moved(const std::vector<double>& shifts) {
    return std::any_of(shifts.begin(), shifts.end(), [](double shift) { return shift != 0; });
  }
  // Moves points nearer to 0 before they are shifted, scaled or rotated: far from 0, rounding would remove the digits
  // in which they differ.
  void put_along(const PrincipalAxes& axes, const std::vector<double>& shifts, RadialForm* form) const {
    std::vector<Side*> sides = {&form->rows};
    if (form->columns.points != form->rows.points) sides.push_back(&form->columns);
    const auto width = static_cast<std::size_t>(form->width);
    const auto number = [](const Side* side, Index p, std::size_t d) -> double& {
      return side->points->found()[p + static_cast<Index>(d) * side->count];
    };
    std::vector<double> nearest(width, HUGE_VAL);
    for (std::size_t d = 0; d < width; ++d)
      for (const Side* side : sides)
        for (Index p = 0; p < side->count; ++p)
          if (std::abs(number(side, p, d)) < std::abs(nearest[d])) nearest[d] = number(side, p, d);
    for (Side* side : sides)
      arrays::each_piece(workers_, side->count, [&](Index, Index first, Index last) {
        std::vector<double> point(width);
        for (Index p = first; p < last; ++p) {
          for (std::size_t d = 0; d < width; ++d)
            point[d] = (number(side, p, d) - nearest[d]) + (side == &form->rows ? shifts[d] : 0);
          axes.move(point.data());
          for (std::size_t d = 0; d < width; ++d) number(side, p, d) = point[d];
        }
      });
  }
  static double product(const std::vector<Factor>& factors, int component, const Evaluator& evaluator) {
    double all = 1;
    for (const Factor& factor : factors) {
      const int at = of_component(factor.components, static_cast<std::size_t>(component));
      const double number = evaluator.read(factor.ref)[at].v;
      all = factor.divides ? all / number : all * number;
    }
    return all;
  }

  const Plan& plan_;
  const std::vector<View>& data_;
  const arrays::Workers& workers_;
};

}  // namespace

Verdict recognise_radial(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                   const arrays::Workers& workers, RadialForm* form) {
  try {
    RadialRecogniser(plan, data, workers).recognise_radial(rows, columns, form);
  } catch (const NotRadial& refused) {
    return Verdict::no(refused.why);
  }
  return {};
}

bool falls_between_same(const RadialForm& form, const arrays::Workers& workers) {
  if (!form.rows.factors.empty() || !form.columns.factors.empty()) return false;
  if (!have_same_points(form.rows, form.columns, workers)) return false;
  if (form.power > 0 || form.components > 1) return false;
  double most = 0;
  for (int d = 0; d < form.width; ++d) {
    const auto first = form.rows.points->begin() + d * form.rows.count;
    const auto ends = std::minmax_element(first, first + form.rows.count);
    most += (*ends.second - *ends.first) * (*ends.second - *ends.first);
  }
  constexpr int kSamples = 100;
  double before = form.profile.at(0);
  for (int k = 1; k <= kSamples; ++k) {
    const double now = form.profile.at(most * k * k / (kSamples * kSamples));
    if (!(now <= before)) return false;
    before = now;
  }
  return true;
}

// --- negligible ----------------------------------------------------------------------------------------------------
// Cuts each doubling of the squared distance into halves, so that the ends of ranges are found at small distances as
// well as at the largest distance.

namespace {

// Distances below the last doubling are one range. The error of an end is at most a thousandth.
constexpr int kDoublings = 160, kHalvingsOfLook = 10;

}  // namespace

NegligibleRanges::NegligibleRanges(const Profile& k, double most, double enough) {
  look(k, 0, std::ldexp(most, -kDoublings), enough, 0);
  for (int doubling = kDoublings; doubling > 0; --doubling)
    look(k, std::ldexp(most, -doubling), std::ldexp(most, 1 - doubling), enough, kHalvingsOfLook);
}

void NegligibleRanges::look(const Profile& k, double least, double most, double enough, int halvings) {
  const Ball ball = k.over(Ball::between(least, most));
  if (ball.size() <= enough) return add(least, most);
  const bool nowhere = ball.known() && std::abs(ball.centre) - ball.radius > enough;
  if (nowhere || halvings == 0) return;
  const double middle = least + (most - least) / 2;
  look(k, least, middle, enough, halvings - 1);
  look(k, middle, most, enough, halvings - 1);
}

void NegligibleRanges::add(double least, double most) {
  if (!ranges_.empty() && ranges_.back().most == least) ranges_.back().most = most;
  else ranges_.push_back({least, most});
}

const ValueRange* NegligibleRanges::first_that_ends_behind(double square) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), square,
                                   [](const ValueRange& range, double value) { return range.most < value; });
  return at == ranges_.end() ? nullptr : &*at;
}

bool NegligibleRanges::covers(double least, double most) const {
  const ValueRange* const at = first_that_ends_behind(most);
  return at && at->least <= least;
}

bool NegligibleRanges::meets(double least, double most) const {
  const ValueRange* const at = first_that_ends_behind(least);
  return at && at->least <= most;
}

}  // namespace distance
}  // namespace kernweave
