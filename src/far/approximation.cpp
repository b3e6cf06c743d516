// Implements an approximation as a template of the number of components, behind one interface.
#include "far/approximation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "distance/profile.hpp"
#include "far/device_product.hpp"
#include "far/levels.hpp"

namespace kernweave {
namespace far {
namespace {

// Returns the range of distances between points in boxes of the two sides.
template <int D>
distance::DistanceRange reach_of(const Cube<D>& cube) {
  const BoundingBox<D>&a = cube.of_rows, &b = cube.of_columns;
  distance::DistanceRange reach;
  if (!a.any() || !b.any()) return reach;
  for (std::size_t d = 0; d < D; ++d) reach.add(a.least[d], a.most[d], b.least[d], b.most[d]);
  return reach;
}

// The fewest points that a device sorts faster than the host.
constexpr std::int64_t kWorthSending = 1 << 16;

template <int D>
class Approximated : public Approximation {
 public:
  Approximated(distance::RadialForm form, const ApproximationRequest& request, const arrays::Workers& workers)
      : form_(std::move(form)), cube_(Cube<D>::around(*form_.rows.points, *form_.columns.points, workers)) {
    if (!std::isfinite(cube_.width)) check_points(workers);
    const bool one_tree = have_same_points(form_.rows, form_.columns, workers);
    same = one_tree && have_same_factors(form_.rows, form_.columns, workers) && form_.power % 2 == 0;
    targets_.emplace(order_of_side(form_.rows, request.device, workers));
    if (!one_tree) sources_.emplace(order_of_side(form_.columns, request.device, workers));
    const distance::DistanceRange reach = reach_of(cube_);
    const auto largest_between = [&](double least, double most) {
      return distance::largest_found(form_.profile, least, most, form_.power);
    };
    if (form_.rows.count > 0 && form_.columns.count > 0) scale = largest_between(reach.least, reach.most);
    // If the formula vanishes at these distances, its largest value at all distances in the cube counts.
    if (scale < distance::kSmallestScale) scale = largest_between(0, D * cube_.width * cube_.width);
    const bool is_number = std::isfinite(form_.profile.at(reach.least)) || std::isfinite(form_.profile.at(reach.most));
    user_check(scale > 0 || is_number, Fault::input, "the formula is not a number at any distance of these points");
    scale = std::max(scale, distance::kSmallestScale);  // if the formula is 0 everywhere
    rough = distance::is_rough(form_.profile, cube_.width, form_.power, scale);
    const Demands demands{request.tolerance * scale, request.grade, form_.power};
    // A power of the difference gives a column of weights more moments, so pairs cost less in relation.
    Prices prices = request.prices;
    prices.pair /= 1 + form_.power * D;
    Octree<D>& sources = sources_ ? *sources_ : *targets_;
    plan_ = levels_of<D>(form_.profile, demands, {cube_, *targets_, sources}, prices, workers);
    for (Octree<D>* tree : {&*targets_, &sources}) tree->end();
    for (distance::Side* side : {&form_.rows, &form_.columns}) {
      side->points.reset();
      side->made_of.clear();
      scale *= largest_factor(*side);
    }
    scale *= largest_of_numbers();
  }

  bool sort(const double* weights, int columns, const arrays::Workers& workers, double* sorted) const override {
    const std::int64_t n = form_.columns.count;
    const Fresh<int>& order = order_of_columns();
    std::atomic<bool> finite{true};
    arrays::each_piece({workers.threads}, n, [&](Index, Index first, Index last) {
      double none = 0;  // NaN if a weight is not finite
      for (std::int64_t c = 0; c < columns; ++c)
        for (Index p = first; p < last; ++p) {
          const double weight = weights[order[static_cast<std::size_t>(p)] + c * n];
          sorted[p + c * n] = weight;
          none += weight - weight;
        }
      if (none != 0) finite = false;
    });
    return finite;
  }

  void multiply(const double* sorted, const double* near, int columns, const arrays::Workers& workers, double* out,
                double* bounds) const override {
    std::vector<double> sums(static_cast<std::size_t>(form_.rows.count * columns * found()), 0.0),
        off(bounds ? sums.size() : 0, 0.0);
    const std::vector<double> scaled = with_factors(sorted, columns);
    add_far<D>(plan_, trees(), form_.power, scaled.empty() ? sorted : scaled.data(), columns, workers, sums.data(),
               bounds ? off.data() : nullptr);
    put_back({sums, off, near}, columns, workers, out, bounds);
  }

  const Fresh<int>& order_of_rows() const override { return targets_->morton().order(); }
  const Fresh<int>& order_of_columns() const override { return sources().morton().order(); }
  const std::vector<Rectangle>& near() const override { return plan_.near; }
  double near_pairs() const override { return plan_.near_pairs; }
  int components() const override { return form_.adds_up ? 1 : form_.components; }

  std::vector<LevelReport> levels() const override {
    std::vector<LevelReport> out;
    for (const Level<D>& level : plan_.levels) {
      LevelReport report{level.half, level.terms.terms().degrees, level.terms.count(), 0, 0, 0, level.pairs_skipped,
                         level.pairs_far, level.work};
      for (const OffsetClass& of : level.classes)
        ++(of.admissibility == Admissibility::negligible   ? report.skipped
           : of.admissibility == Admissibility::admissible ? report.far
                                                           : report.split);
      out.push_back(report);
    }
    return out;
  }

  std::string formula() const override { return form_.profile.text(); }
  std::string why_no_series() const override {
    return distance::why_no_series(form_.profile, 0, D * cube_.width * cube_.width);
  }
  std::string factors() const override {
    const bool rows = !form_.rows.factors.empty(), columns = !form_.columns.factors.empty();
    return rows && columns ? "of rows and columns" : rows ? "of rows" : columns ? "of columns" : "";
  }

  double outliers() const override {
    return targets_->size() - targets_->boxed() + (sources().size() - sources().boxed());
  }

  double bytes() const override {
    double all = static_cast<double>(plan_.near.size()) * sizeof(Rectangle);
    for (const Level<D>& level : plan_.levels) {
      all += level.terms.bytes();
      for (const std::vector<Interaction>& pairs : level.far)
        all += static_cast<double>(pairs.size()) * sizeof(Interaction);
    }
    for (const Octree<D>* tree : {&*targets_, sources_ ? &*sources_ : nullptr})
      if (tree) all += tree->size() * (sizeof(int) + D * sizeof(double));
    return all;
  }

 private:
  std::unique_ptr<DeviceProduct> sent_to(device::Device* device, const arrays::Workers& workers) const override {
    return product_on<D>(device, plan_, trees(),
                         {form_.rows.factors, form_.columns.factors, form_.numbers, form_.power,
                          form_.components, form_.adds_up}, workers);
  }

  std::unique_ptr<MortonOrder<D>> order_of_side(const distance::Side& side, device::Device* device,
                                     const arrays::Workers& workers) const {
    if (device && cube_.has_all && side.count >= kWorthSending)
      return device_morton_order<D>(*side.points, cube_, device);
    return morton_order<D>(*side.points, cube_, workers);
  }

  // Fails if a number is not finite.
  void check_points(const arrays::Workers& workers) const {
    distance::check_points(form_.rows, "i", workers);
    distance::check_points(form_.columns, "j", workers);
  }

  // Counts the sums of each column of weights: one for each component of the difference.
  std::int64_t found() const { return form_.power > 0 ? D : 1; }

  // Returns the weights times the factors of columns; empty if there are no factors.
  std::vector<double> with_factors(const double* sorted, int columns) const {
    const std::int64_t n = form_.columns.count;
    const std::vector<double>& factors = form_.columns.factors;
    const Fresh<int>& order = order_of_columns();
    std::vector<double> scaled(factors.empty() ? 0 : static_cast<std::size_t>(n * columns));
    for (std::size_t k = 0; k < scaled.size(); ++k)
      scaled[k] = sorted[k] * factors[static_cast<std::size_t>(order[k % static_cast<std::size_t>(n)])];
    return scaled;
  }

  // Sums over far pairs, bounds of their errors, and sums over near pairs, in the order of boxes.
  struct SortedSums {
    const std::vector<double>&far, &off;
    const double* near;
  };
  // Writes sums in the order of points, times factors and numbers of each component of the formula.
  void put_back(const SortedSums& sums, int columns, const arrays::Workers& workers, double* out,
                double* bounds) const {
    const std::int64_t m = form_.rows.count;
    const Fresh<int>& order = order_of_rows();
    const int each = form_.adds_up ? form_.components : 1;  // components of the form in one component of the formula
    arrays::each_piece({workers.threads}, m, [&](Index, Index first, Index last) {
      for (std::int64_t c = 0; c < std::int64_t{columns} * components(); ++c)
        for (Index p = first; p < last; ++p) {
          const std::int64_t to = order[static_cast<std::size_t>(p)];
          double sum = 0, bound = 0;
          for (int k = 0; k < each; ++k) {
            const int d = static_cast<int>(c % components()) + k;
            const std::int64_t from = p + c / components() * found() * m;
            sum += of_component(sums.far, from, to, d, false);
            if (bounds) bound += of_component(sums.off, from, to, d, true);
          }
          out[to + c * m] = sums.near ? sum + sums.near[p + c * m] : sum;
          if (bounds) bounds[to + c * m] = bound;
        }
    });
  }
  // Adds up the sums of the components of the difference (the first is at `at`), times the numbers and the factor of a
  // row or, if `size` is set, times their absolute values.
  double of_component(const std::vector<double>& sums, std::int64_t at, std::int64_t row, int d, bool size) const {
    const double factor = factor_at(static_cast<std::size_t>(row), static_cast<std::size_t>(d));
    double all = 0;
    for (std::int64_t k = 0; k < found(); ++k) {
      const double number = factor * form_.numbers[static_cast<std::size_t>(d * found() + k)];
      if (number == 0) continue;
      all += sums[static_cast<std::size_t>(at + k * form_.rows.count)] * (size ? std::abs(number) : number);
    }
    return all;
  }

  // Bounds a component of the formula, relative to the components of the difference.
  double largest_of_numbers() const {
    double most = 0;
    const std::size_t each = form_.numbers.size() / static_cast<std::size_t>(form_.components);
    for (std::size_t first = 0; first < form_.numbers.size(); first += each) {
      double all = form_.adds_up ? most : 0;
      for (std::size_t k = first; k < first + each; ++k) all += std::abs(form_.numbers[k]);
      most = std::max(most, all);
    }
    return most;
  }
  // Returns a row's factor for a component of the formula.
  double factor_at(std::size_t row, std::size_t component) const {
    const std::vector<double>& of_rows = form_.rows.factors;
    const auto count = static_cast<std::size_t>(form_.rows.count);
    return of_rows.empty() ? 1 : of_rows[of_rows.size() > count ? row + component * count : row];
  }
  const Octree<D>& sources() const { return sources_ ? *sources_ : *targets_; }
  TreePair<D> trees() const { return {cube_, *targets_, sources()}; }

  distance::RadialForm form_;
  const Cube<D> cube_;
  std::optional<Octree<D>> targets_, sources_;
  Levels<D> plan_;
};

// Returns the place of each number in the order.
std::vector<std::int64_t> places_in(const Fresh<int>& order) {
  std::vector<std::int64_t> places(order.size());
  std::int64_t place = 0;
  for (const int number : order) places[static_cast<std::size_t>(number)] = place++;
  return places;
}

// Tells whether a pair is in a rectangle. Rectangles are ordered by rows, which are equal or disjoint, then by columns.
bool is_in(const std::vector<Rectangle>& rectangles, std::int64_t row, std::int64_t column) {
  const auto after = std::partition_point(rectangles.begin(), rectangles.end(), [&](const Rectangle& r) {
    return r.rows.to <= row || (r.rows.from <= row && r.columns.to <= column);
  });
  return after != rectangles.end() && after->rows.from <= row && after->columns.from <= column;
}

}  // namespace

DeviceProduct& Approximation::on(device::Device* device, const arrays::Workers& workers) {
  std::unique_ptr<DeviceProduct>& there = sent_[device];
  if (!there) there = sent_to(device, workers);
  return *there;
}

std::vector<std::int64_t> Approximation::far_from_themselves() const {
  const std::vector<std::int64_t> i = places_in(order_of_rows()), j = places_in(order_of_columns());
  std::vector<std::int64_t> far;
  for (std::size_t k = 0; k < std::min(i.size(), j.size()); ++k)
    if (!is_in(near(), i[k], j[k])) far.push_back(static_cast<std::int64_t>(k));
  return far;
}

std::unique_ptr<Approximation> Approximation::make(distance::RadialForm form, const ApproximationRequest& request,
                                                   const arrays::Workers& workers) {
  for (const distance::Side* side : {&form.rows, &form.columns}) check_count(*side);
  check_factors(form.rows, "i", workers);
  check_factors(form.columns, "j", workers);
  switch (form.width) {
    case 1: return std::make_unique<Approximated<1>>(std::move(form), request, workers);
    case 2: return std::make_unique<Approximated<2>>(std::move(form), request, workers);
    case 3: return std::make_unique<Approximated<3>>(std::move(form), request, workers);
    default: break;
  }
  fail(Fault::unsupported, "points of ", form.width, " components");
}

}  // namespace far
}  // namespace kernweave
