// Finds HDBSCAN clusters: from the top of a hierarchy down, clusters split, lose points, or last.
#include <algorithm>
#include <limits>
#include <utility>

#include "trees/trees.hpp"

namespace kernweave::trees {
namespace {


class Condensed {
 public:
  Condensed(const int* first, const int* second, const double* height, int points, int least)
      : first_(first), second_(second), height_(height), points_(points), least_(least) {
    const auto merges = static_cast<std::size_t>(points - 1);
    size_.resize(merges);
    for (std::size_t k = 0; k < merges; ++k) size_[k] = size_of(first[k]) + size_of(second[k]);
    smallest_ = kInfinite;  // half of the smallest positive height, in place of 0, the height of copies
    for (std::size_t k = 0; k < merges; ++k)
      if (height[k] > 0) smallest_ = std::min(smallest_, height[k]);
    smallest_ = smallest_ == kInfinite ? 1 : smallest_ / 2;
    home_.resize(merges);
    left_at_.resize(static_cast<std::size_t>(points));
    left_.resize(static_cast<std::size_t>(points));
  }

  DensityClusters found() {
    add(-1, points_ > 1 ? height_[points_ - 2] : 0);
    if (points_ > 1) home_.back() = 0;
    for (int k = points_ - 2; k >= 0; --k) fall(k);
    choose();
    return out_;
  }

 private:
  struct Cluster {
    int parent;
    double birth, death = 0, stability = 0, least = kInfinite;
    bool split = false;
  };

  int size_of(int at) const { return at < 0 ? 1 : size_[static_cast<std::size_t>(at) - 1]; }
  double density(double height) const { return 1 / std::max(height, smallest_); }

  int add(int parent, double birth) {
    clusters_.push_back({parent, birth});
    return static_cast<int>(clusters_.size()) - 1;
  }

  // Takes the merge of a cluster apart, with all merges below it at the same height: equal heights have no order. A
  // piece too small for a cluster stays in the cluster until its points leave, or until the cluster has split.
  void fall(int k) {
    const int home = home_[static_cast<std::size_t>(k)];
    if (home < 0) return;  // taken apart already
    const std::vector<int> pieces = pieces_of(k);
    const auto is_large = [&](int piece) { return size_of(piece) >= least_; };
    Cluster& c = clusters_[static_cast<std::size_t>(home)];
    const double height = c.split ? c.death : height_[k], gained = density(height) - density(c.birth);
    c.least = std::min(c.least, height_[k]);
    const bool splits = !c.split && std::count_if(pieces.begin(), pieces.end(), is_large) > 1;
    if (splits) {
      c.split = true;
      c.death = height;
    }
    for (const int piece : pieces) {
      if (piece < 0 || (splits && is_large(piece)))
        clusters_[static_cast<std::size_t>(home)].stability += size_of(piece) * gained;
      put(piece, splits && is_large(piece) ? add(home, height) : home, height);
    }
  }

  // Returns the points of a merge, and the clusters below its height.
  std::vector<int> pieces_of(int k) {
    std::vector<int> pieces, open{first_[k], second_[k]};
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at < 0 || height_[at - 1] < height_[k]) {
        pieces.push_back(at);
        continue;
      }
      home_[static_cast<std::size_t>(at) - 1] = -1;
      open.insert(open.end(), {first_[at - 1], second_[at - 1]});
    }
    return pieces;
  }

  void put(int side, int home, double height) {
    if (side > 0) {
      home_[static_cast<std::size_t>(side) - 1] = home;
      return;
    }
    left_[static_cast<std::size_t>(-side) - 1] = home;
    left_at_[static_cast<std::size_t>(-side) - 1] = height;
  }

  // Chooses a cluster if its parts in all are not more stable; never chooses the first cluster, of all points.
  void choose() {
    const std::size_t count = clusters_.size();
    std::vector<double> below(count, 0), best(count);
    std::vector<char> own(count, 0);
    for (std::size_t c = count; c-- > 1;) {
      const Cluster& one = clusters_[c];
      own[c] = !one.split || below[c] <= one.stability;
      best[c] = own[c] ? one.stability : below[c];
      below[static_cast<std::size_t>(one.parent)] += best[c];
    }
    for (std::size_t c = count; c-- > 0;) {
      Cluster& one = clusters_[c];
      if (c > 0) {
        double& above = clusters_[static_cast<std::size_t>(one.parent)].least;
        above = std::min(above, one.least);
      }
    }
    std::vector<int> chosen(count, -1);
    for (std::size_t c = 1; c < count; ++c) {
      const int above = chosen[static_cast<std::size_t>(clusters_[c].parent)];
      chosen[c] = above >= 0 ? above : own[c] ? static_cast<int>(c) : -1;
    }
    number(chosen);
  }

  void number(const std::vector<int>& chosen) {
    std::vector<int> names(clusters_.size(), 0);
    for (int p = 0; p < points_; ++p) {
      const auto at = static_cast<std::size_t>(left_[static_cast<std::size_t>(p)]);
      const int c = chosen[at];
      if (c >= 0 && names[static_cast<std::size_t>(c)] == 0) {
        out_.stability.push_back(clusters_[static_cast<std::size_t>(c)].stability);
        names[static_cast<std::size_t>(c)] = static_cast<int>(out_.stability.size());
      }
      out_.cluster.push_back(c < 0 ? 0 : names[static_cast<std::size_t>(c)]);
      const double least = clusters_[at].least, height = left_at_[static_cast<std::size_t>(p)];
      out_.outlier.push_back(least < kInfinite && height > 0 ? 1 - least / height : 0);
    }
  }

  const int* const first_;
  const int* const second_;
  const double* const height_;
  const int points_, least_;
  double smallest_;
  std::vector<int> size_, home_;  // for each merge: the number of points, and the cluster in which it is taken apart
  std::vector<int> left_;         // for each point: the cluster that it left last, and the height
  std::vector<double> left_at_;
  std::vector<Cluster> clusters_;
  DensityClusters out_;
};

}  // namespace

DensityClusters density_clusters(const int* first, const int* second, const double* height, int points, int least) {
  return Condensed(first, second, height, points, least).found();
}

}  // namespace kernweave::trees
