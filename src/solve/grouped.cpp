// The preconditioner M = P + V V' of a matrix with grouped effects: P is a preconditioner of landmarks and neighbours,
// V sparse, with a column for each effect of a level. With P^-1 = G G', W = G'V and C = I + W'W = L L',
// M^-1 = P^-1 - P^-1 V C^-1 V'P^-1 = H H' (Woodbury), where H = G (I - W L'^-1 (I + L)^-1 W').
#include <algorithm>

#include "base/error.hpp"
#include "solve/bordered.hpp"
#include "solve/lanczos.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {
namespace {

// --- the matrix C ---------------------------------------------------------------------------------------------------
// C - I = V'P^-1 V = V_R' U U' V_R + V_S' own V_S + V_S' cross V_R + its transpose, with U the sparse factor of the
// points R that are no landmarks, and with `own` and `cross` the rows of P^-1 at the landmarks S.

// A sparse accumulator: sums at few of many places.
class SparseSum {
 public:
  explicit SparseSum(Index places) : values_(static_cast<std::size_t>(places), 0.0), seen_(values_.size(), false) {}

  void add(int place, double value) {
    const auto at = static_cast<std::size_t>(place);
    if (!seen_[at]) places_.push_back(place);
    seen_[at] = true;
    values_[at] += value;
  }
  // Calls work(place, sum) for each place in order, and begins anew.
  template <class Work>
  void each(Work work) {
    std::sort(places_.begin(), places_.end());
    for (const int place : places_) {
      const auto at = static_cast<std::size_t>(place);
      work(place, values_[at]);
      values_[at] = 0;
      seen_[at] = false;
    }
    places_.clear();
  }
  std::size_t size() const { return places_.size(); }

 private:
  std::vector<double> values_;
  std::vector<bool> seen_;
  std::vector<int> places_;
};

struct Addend {
  int place;
  double value;
};

// Makes a list of addends for each row by find(row, sum, out). Threads take some rows at a time.
template <class Find>
std::vector<std::vector<Addend>> lists(Index rows, Index cost, Index places, int threads, Find find) {
  std::vector<std::vector<Addend>> found(static_cast<std::size_t>(rows));
  each_piece(rows, cost, threads, [&](Index first, Index last, Index) {
    SparseSum sum(places);
    for (Index row = first; row < last; ++row) find(row, &sum, &found[static_cast<std::size_t>(row)]);
  });
  return found;
}

template <class Kind>
Kind matrix_of(const std::vector<std::vector<Addend>>& lines, Index across) {
  const auto n = static_cast<Index>(lines.size());
  Kind out(Kind::IsRowMajor ? n : across, Kind::IsRowMajor ? across : n);
  Index count = 0;
  for (const auto& line : lines) count += static_cast<Index>(line.size());
  out.resizeNonZeros(count);
  Index at = 0;
  for (Index k = 0; k < n; ++k) {
    out.outerIndexPtr()[k] = static_cast<int>(at);
    for (const Addend& entry : lines[static_cast<std::size_t>(k)]) {
      out.innerIndexPtr()[at] = entry.place;
      out.valuePtr()[at++] = entry.value;
    }
  }
  out.outerIndexPtr()[n] = static_cast<int>(at);
  return out;
}

// A level that meets more than max(kFewLevels, levels / kShare) levels is at the border: its row is stored dense.
constexpr Index kFewLevels = 200, kShare = 20;
// The most levels at the border: their factor takes 4 s of two threads, and half a gigabyte.
constexpr Index kMostAtBorder = 8000;

class LevelMatrix {
 public:
  LevelMatrix(Preconditioner* inner, const SparseRows& v, int threads)
      : inner_(inner), part_(sparse_part(*inner)), v_(v), levels_(v.cols()), threads_(threads), y_(factored()) {
    by_level_ = y_;
  }

  BorderedMatrix made() {
    BorderedMatrix c;
    const std::vector<std::vector<Addend>> columns = sparse_columns(&c);
    place_.resize(static_cast<std::size_t>(levels_));
    for (const auto* list : {&c.inner, &c.border})
      for (std::size_t k = 0; k < list->size(); ++k) place_[static_cast<std::size_t>((*list)[k])] = static_cast<int>(k);
    fill_inner(columns, &c);
    fill_border(&c);
    add_landmarks(&c);
    return c;
  }

 private:
  // Y = U'V_R: a row for each point.
  SparseRows factored() const {
    const SparseFactor& factor = part_.factor;
    const auto add = [&](Index point, double by, SparseSum* sum) {
      for (SparseRows::InnerIterator e(v_, part_.rows[static_cast<std::size_t>(point)]); e; ++e)
        sum->add(static_cast<int>(e.col()), by * e.value());
    };
    return matrix_of<SparseRows>(
        lists(factor.points(), factor.most() + 1, levels_, threads_,
              [&](Index i, SparseSum* sum, std::vector<Addend>* out) {
                const auto u = factor.columns().col(i);
                for (Index s = 0; s < factor.most(); ++s)
                  if (factor.neighbour(s, i) >= 0) add(factor.neighbour(s, i), u[s], sum);
                add(i, u[factor.most()], sum);
                sum->each([&](int level, double value) { out->push_back({level, value}); });
              }),
        levels_);
  }

  // Puts the column of a level in Y'Y into `sum`.
  void add_column(Index level, SparseSum* sum) const {
    for (SparseColumns::InnerIterator k(by_level_, level); k; ++k)
      for (SparseRows::InnerIterator e(y_, k.row()); e; ++e) sum->add(static_cast<int>(e.col()), k.value() * e.value());
  }

  // Finds the levels at the border (levels of landmarks, or that meet many levels), and the other levels' columns.
  std::vector<std::vector<Addend>> sparse_columns(BorderedMatrix* c) {
    at_border_.assign(static_cast<std::size_t>(levels_), 0);
    for (const int row : part_.landmarks)
      for (SparseRows::InnerIterator e(v_, row); e; ++e) is_at_border(e.col()) = 1;
    const auto most = static_cast<std::size_t>(std::max(kFewLevels, levels_ / kShare));
    auto columns = lists(levels_, cost_of_level(), levels_, threads_,
                         [&](Index level, SparseSum* sum, std::vector<Addend>* out) {
                           if (is_at_border(level)) return;
                           add_column(level, sum);
                           if (sum->size() > most) is_at_border(level) = 1;
                           const bool kept = sum->size() <= most;
                           sum->each([&](int other, double value) {
                             if (kept && other >= level) out->push_back({other, value});
                           });
                         });
    for (Index level = 0; level < levels_; ++level)
      (is_at_border(level) ? c->border : c->inner).push_back(static_cast<int>(level));
    const auto scattered = static_cast<Index>(c->border.size());
    user_check(scattered <= kMostAtBorder, Fault::unsupported, "grouped effects: ", scattered, " levels meet many ",
               "others, since their rows lie scattered among those of the process, and ", kMostAtBorder,
               " such levels are the most; fewer levels, or levels whose rows lie together, can be had");
    return columns;
  }

  Index cost_of_level() const {
    const Index rows = std::max<Index>(1, y_.nonZeros() / std::max<Index>(1, levels_));
    return rows * std::max<Index>(1, y_.nonZeros() / std::max<Index>(1, y_.rows()));
  }

  void fill_inner(const std::vector<std::vector<Addend>>& columns, BorderedMatrix* c) {
    std::vector<std::vector<Addend>> kept(c->inner.size());
    for (std::size_t k = 0; k < kept.size(); ++k)
      for (const Addend& e : columns[static_cast<std::size_t>(c->inner[k])]) {
        if (is_at_border(e.place)) continue;
        const int row = place_[static_cast<std::size_t>(e.place)];
        kept[k].push_back({row, e.value + (static_cast<std::size_t>(row) == k ? 1.0 : 0.0)});
      }
    for (std::size_t k = 0; k < kept.size(); ++k)  // a level of no row has no entry
      if (kept[k].empty() || kept[k][0].place != static_cast<int>(k))
        kept[k].insert(kept[k].begin(), {static_cast<int>(k), 1.0});
    c->sparse = matrix_of<SparseColumns>(kept, static_cast<Index>(kept.size()));
  }

  void fill_border(BorderedMatrix* c) {
    const auto inner = static_cast<Index>(c->inner.size()), border = static_cast<Index>(c->border.size());
    c->across.setZero(inner, border);
    c->corner.setIdentity(border, border);
    each_piece(border, cost_of_level(), threads_, [&](Index first, Index last, Index) {
      SparseSum sum(levels_);
      for (Index k = first; k < last; ++k) {
        add_column(c->border[static_cast<std::size_t>(k)], &sum);
        sum.each([&](int level, double value) {
          (is_at_border(level) ? c->corner : c->across)(place_[static_cast<std::size_t>(level)], k) += value;
        });
      }
    });
  }

  // Adds the entries of P^-1 at the landmarks, whose levels are at the border.
  void add_landmarks(BorderedMatrix* c) const {
    const auto rank = static_cast<Index>(part_.landmarks.size());
    constexpr Index kNumbers = 1 << 24;
    const Index at_once = std::max<Index>(4, kNumbers / std::max<Index>(1, v_.rows()));
    for (Index from = 0; from < rank; from += at_once) {
      const Index count = std::min(at_once, rank - from);
      const InverseWeights w = inverse_weights(inner_, {from, from + count}, inner_->home());
      const Block cross = w.cross.to_host();  // twice these entries
      Block of_levels = Block::Zero(count, levels_);
      for (Index i = 0; i < cross.cols(); ++i)
        for (SparseRows::InnerIterator e(v_, part_.rows[static_cast<std::size_t>(i)]); e; ++e)
          of_levels.col(e.col()) += (0.5 * e.value()) * cross.col(i);
      for (Index s = 0; s < count; ++s) add_landmark(from + s, w.own.row(s), of_levels.row(s), c);
    }
  }

  template <class Numbers, class Levels>
  void add_landmark(Index landmark, const Numbers& own, const Levels& of_levels, BorderedMatrix* c) const {
    for (SparseRows::InnerIterator a(v_, part_.landmarks[static_cast<std::size_t>(landmark)]); a; ++a) {
      const Index k = place_[static_cast<std::size_t>(a.col())];
      for (std::size_t j = 0; j < c->inner.size(); ++j)
        c->across(static_cast<Index>(j), k) += a.value() * of_levels[c->inner[j]];
      for (std::size_t j = 0; j < c->border.size(); ++j) {
        const double one = a.value() * of_levels[c->border[j]];
        c->corner(static_cast<Index>(j), k) += one;
        c->corner(k, static_cast<Index>(j)) += one;
      }
      for (Index other = 0; other < own.size(); ++other)
        for (SparseRows::InnerIterator b(v_, part_.landmarks[static_cast<std::size_t>(other)]); b; ++b)
          c->corner(place_[static_cast<std::size_t>(b.col())], k) += a.value() * own[other] * b.value();
    }
  }

  char& is_at_border(Index level) { return at_border_[static_cast<std::size_t>(level)]; }

  Preconditioner* const inner_;
  const SparsePart part_;
  const SparseRows& v_;
  const Index levels_;
  const int threads_;
  const SparseRows y_;
  SparseColumns by_level_;  // Y by columns
  std::vector<char> at_border_;
  std::vector<int> place_;  // place of each level among the inner levels, or among the levels at the border
};

// --- the preconditioner ---------------------------------------------------------------------------------------------

class Grouped : public Preconditioner {
 public:
  Grouped(PreconditionerPointer inner, SparseRows v, int threads)
      : inner_(std::move(inner)),
        v_(std::move(v)),
        threads_(threads),
        c_(LevelMatrix(inner_.get(), v_, threads).made(), threads) {
    logdet = inner_->logdet + 2 * c_.lower().sum_of_logs();
  }

  void bind(Thin thin) override { inner_->bind(std::move(thin)); }
  device::Device* home() const override { return inner_->home(); }
  Preconditioner* kernel_part() override { return inner_.get(); }
  const Preconditioner* kernel_part() const override { return inner_.get(); }

  void root(const Columns& x, Columns* y) override {
    between(x, [&](Block* few) {
      c_.lower_plus_identity().solve(few);
      c_.lower().solve_transposed(few);
    });
    left_ = x;
    add_multiple(&left_, part_, -1, threads_);
    inner_->root(left_, y);
  }

  void root_transposed(const Columns& x, Columns* y) override {
    inner_->root_transposed(x, y);
    between(*y, [&](Block* few) {
      c_.lower().solve(few);
      c_.lower_plus_identity().solve_transposed(few);
    });
    add_multiple(y, part_, -1, threads_);
  }

  // Multiplies by H'^-1 = G'^-1 (I + W (I + L)^-1 W').
  void back(const Block& x, Block* y) override {
    between(Columns(x), [&](Block* few) { c_.lower_plus_identity().solve(few); });
    inner_->back(x + part_.to_host(), y);
  }

  void inverse(const Columns& x, Columns* y) override {
    inner_->inverse(x, y);
    inner_->inverse(rows_of_levels(of_levels(levels_of(*y)), x.device()), &part_);
    add_multiple(y, part_, -1, threads_);
  }

  // Computes C^-1 x.
  Block of_levels(const Block& x) const {
    Block few = c_.in_order(x);
    c_.lower().solve(&few);
    c_.lower().solve_transposed(&few);
    return c_.restored(few);
  }

  LevelProbes probes(const Block& signs) {
    LevelProbes found{signs, {}};
    c_.lower().solve_transposed(&found.levels);
    found.levels = c_.restored(found.levels);
    inner_->inverse(rows_of_levels(found.levels, nullptr), &part_);
    found.rows = part_.to_host();
    return found;
  }

  Index levels() const { return v_.cols(); }

 private:
  // Sets `part_` to W S W'x, where S is the matrix by which `solve` multiplies.
  template <class Solve>
  void between(const Columns& x, Solve solve) {
    inner_->root(x, &whole_);
    Block few = c_.in_order(levels_of(whole_));
    solve(&few);
    inner_->root_transposed(rows_of_levels(c_.restored(few), x.device()), &part_);
  }

  // Computes V'x and V x, for some columns at a time.
  Block levels_of(const Columns& x) const {
    const Block rows = x.device() ? x.to_host() : Block();
    return multiplied(x.device() ? rows : x.block(), v_.cols(), v_.transpose());
  }
  Columns rows_of_levels(const Block& few, device::Device* device) const {
    Columns rows(multiplied(few, v_.rows(), v_));
    return device ? rows.sent_to(device) : rows;
  }
  template <class Matrix>
  Block multiplied(const Block& x, Index rows, const Matrix& matrix) const {
    Block y(rows, x.cols());
    share_out(
        threads_, x.cols(), [](double) {},
        [&](int, std::int64_t k, const Heartbeat&) { y.col(k).noalias() = matrix * x.col(k); });
    return y;
  }

  const PreconditionerPointer inner_;
  const SparseRows v_;
  const int threads_;
  const BorderedFactor c_;
  Columns whole_, part_, left_;
};

Grouped& as_grouped(Preconditioner* preconditioner) {
  auto* const grouped = dynamic_cast<Grouped*>(preconditioner);
  internal_check(grouped, "levels are asked for, of a preconditioner without groups");
  return *grouped;
}

}  // namespace

PreconditionerPointer grouped_preconditioner(PreconditionerPointer kernel, SparseRows effects, int threads) {
  return std::make_unique<Grouped>(std::move(kernel), std::move(effects), threads);
}

LevelProbes level_probes(Preconditioner* preconditioner, int count, std::uint64_t seed, int first) {
  Grouped& grouped = as_grouped(preconditioner);
  return grouped.probes(random_signs(grouped.levels(), count, seed, first));
}

Block level_inverse(Preconditioner* preconditioner, const Block& x) { return as_grouped(preconditioner).of_levels(x); }

}  // namespace kernweave::solve
