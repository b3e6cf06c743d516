// Every way from points to the value goes through one squared distance. It is found in the steps of the plan.
#include "far/cut.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "far/parts.hpp"

namespace kernweave {
namespace far {
namespace {

class Cutter {
 public:
  Cutter(const Plan& plan, const std::vector<View>& data, const arrays::Workers& workers)
      : plan_(plan), data_(data), workers_(workers), evaluator_(plan, plan.variants.back().program, data) {
    evaluator_.run(Region::param);
  }

  void take_apart(std::int64_t rows, std::int64_t columns, Cut* cut) {
    for (const Variable& v : plan_.variables)
      if (v.source == Source::counter) throw Refused{"it knows row numbers"};
    const Ref& value = plan_.variants.back().outputs[0].value;
    Parts parts(plan_, data_, evaluator_, &cut->profile);
    const Part whole = parts.of(value);
    if (!parts.sides()) throw Refused{"it has no distance of points along i and j"};
    const Parts::Sides& sides = *parts.sides();
    cut->width = sides.width;
    cut->power = whole.power;
    if (value.width != cut->width && cut->power > 0)
      throw Refused{"it has other components than its points"};
    for (const Factor& factor : whole.columns)
      if (factor.ref.width > 1) throw Refused{"a factor along j has several components"};
    std::vector<double> scales;
    for (int d = 0; d < cut->width; ++d)
      scales.push_back(parts.weights().empty() ? 1 : std::sqrt(parts.weights()[static_cast<std::size_t>(d)]));
    Part profile{{}, {}, {1}, whole.place};
    if (value.width == 1 && whole.power == 0) profile.numbers = whole.numbers;
    else take_numbers(whole, value.width, scales, cut);
    cut->profile.end_with(parts.place_of(profile));
    cut->rows = side(Region::row, rows, sides.row, cut->width, whole.rows, value.width);
    cut->columns = side(Region::column, columns, sides.column, cut->width, whole.columns, 1);
    scale_points(scales, cut);
  }

 private:
  // Those of the formula, for points that are scaled.
  static void take_numbers(const Part& whole, int components, const std::vector<double>& scales, Cut* cut) {
    cut->numbers.clear();
    for (std::size_t d = 0; d < static_cast<std::size_t>(components); ++d) {
      const double number = whole.numbers[whole.numbers.size() == 1 ? 0 : d];
      if (!std::isfinite(number)) throw Refused{"a number in it is not finite"};
      const double scale = cut->power > 0 ? std::pow(scales[d], cut->power) : 1;
      if (number != 0 && scale == 0) throw Refused{"it knows a component of points that the distance does not"};
      cut->numbers.push_back(number == 0 ? 0 : number / scale);
    }
  }

  Side side(Region region, std::int64_t count, const Ref& at, int width, const std::vector<Factor>& factors,
            int components) {
    Side out;
    out.count = count;
    out.points.resize(static_cast<std::size_t>(count * width));
    const bool wide = std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.ref.width > 1; });
    const int many = factors.empty() ? 0 : wide ? components : 1;
    out.factors.resize(static_cast<std::size_t>(count * many));
    arrays::each_piece(workers_, count, [&](Index, Index first, Index last) {
      Evaluator own = evaluator_;
      for (Index p = first; p < last; ++p) {
        if (region == Region::row) own.at_row(p);
        else own.at_column(p);
        own.run(region);
        const Read<Lane> point = own.read(at);
        for (int d = 0; d < width; ++d)
          out.points[static_cast<std::size_t>(p + d * count)] = point[at.width == 1 ? 0 : d].v;
        for (int d = 0; d < many; ++d)
          out.factors[static_cast<std::size_t>(p + d * count)] = product(factors, d, own);
      }
    });
    return out;
  }
  // Of numbers far from 0, the digits that tell them apart would be lost with those behind, so they come nearer first.
  static void scale_points(const std::vector<double>& scale, Cut* cut) {
    for (std::size_t d = 0; d < scale.size(); ++d) {
      if (scale[d] == 1) continue;
      double nearest = HUGE_VAL;
      each_number(cut, d, [&](double& x) { nearest = std::abs(x) < std::abs(nearest) ? x : nearest; });
      each_number(cut, d, [&](double& x) { x = (x - nearest) * scale[d]; });
    }
  }
  template <class F>
  static void each_number(Cut* cut, std::size_t component, F f) {
    for (Side* side : {&cut->rows, &cut->columns}) {
      const auto n = static_cast<std::size_t>(side->count);
      std::for_each_n(side->points.begin() + static_cast<std::ptrdiff_t>(component * n), n, f);
    }
  }
  static double product(const std::vector<Factor>& factors, int component, const Evaluator& evaluator) {
    double all = 1;
    for (const Factor& factor : factors) {
      const double number = evaluator.read(factor.ref)[factor.ref.width == 1 ? 0 : component].v;
      all = factor.divides ? all / number : all * number;
    }
    return all;
  }

  const Plan& plan_;
  const std::vector<View>& data_;
  const arrays::Workers& workers_;
  Evaluator evaluator_;
};

}  // namespace

Verdict take_apart(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                   const arrays::Workers& workers, Cut* cut) {
  try {
    Cutter(plan, data, workers).take_apart(rows, columns, cut);
  } catch (const Refused& refused) {
    return Verdict::no(refused.why);
  }
  return {};
}

void check_counts(const Cut& cut) {
  for (const Side* side : {&cut.rows, &cut.columns})
    user_check(side->count < std::numeric_limits<int>::max(), Fault::unsupported, "too many points along an axis");
}

bool falls_between_same(const Cut& cut) {
  if (!cut.rows.factors.empty() || !cut.columns.factors.empty() || cut.rows.points != cut.columns.points) return false;
  if (cut.power > 0 || cut.components() > 1) return false;
  double most = 0;
  for (int d = 0; d < cut.width; ++d) {
    const auto first = cut.rows.points.begin() + d * cut.rows.count;
    const auto ends = std::minmax_element(first, first + cut.rows.count);
    most += (*ends.second - *ends.first) * (*ends.second - *ends.first);
  }
  constexpr int kSamples = 100;
  double before = cut.profile.at(0);
  for (int k = 1; k <= kSamples; ++k) {
    const double now = cut.profile.at(most * k * k / (kSamples * kSamples));
    if (!(now <= before)) return false;
    before = now;
  }
  return true;
}

}  // namespace far
}  // namespace kernweave
