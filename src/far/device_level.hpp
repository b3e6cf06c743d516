// A level's far pairs on a device: boxes, matrices of classes, and batches of pairs.
#pragma once
#include "far/device_boxes.hpp"
#include "far/device_kernels.hpp"
#include "far/pair_lists.hpp"

namespace kernweave {
namespace far {

// Pairs of boxes of some targets.
struct PairsThere {
  int batches = 0, first_target = 0, targets = 0, count = 0;
  Block batch, sources, starts, numbers;
};

// Numbers of boxes, which one level after the other uses.
struct SeriesRoom {
  Block moments, series, parts, waiting;
};

template <int D>
class LevelThere {
 public:
  LevelThere(Device* device, const Level<D>& level, const Trees<D>& trees, std::size_t number, int power,
             const arrays::Workers& workers);

  // How many numbers it needs of each kind.
  std::int64_t moments() const { return sources_.count * numbers(); }
  std::int64_t series() const { return targets_.count * numbers(); }
  std::int64_t parts() const { return has_parts() ? sources_.stretch_count * numbers() : 0; }
  std::int64_t waiting() const { return most_pairs_ * numbers(); }

  void add(const PointsThere<D>& targets, const PointsThere<D>& sources, const double* weights, double* sums,
           const SeriesRoom& room) const;

 private:
  std::int64_t shared_bytes() const;
  std::int64_t numbers() const { return std::int64_t{spread_.count()} * padded_; }  // of a box
  bool has_parts() const { return sources_.stretch_count > sources_.count; }

  void send_terms(const LevelTerms<D>& terms);
  void send_matrices(const Level<D>& level);
  void send_pairs(const Level<D>& level, const arrays::Workers& workers);
  void send_lists(const PairLists& lists);

  void find_moments(gpu::FarTask task, const PointsThere<D>& sources, const double* weights,
                    const SeriesRoom& room) const;
  void apply(gpu::FarTask task, const PairsThere& pairs, const SeriesRoom& room) const;

  Device* const device_;
  const Spread spread_;
  const int terms_, padded_, degrees_;
  const double half_;
  int blocks_ = 0, width_ = 0, most_pairs_ = 0;
  BoxesThere<D> targets_, sources_;
  Block set_, ends_, turned_, starts_, columns_, numbers_;
  std::vector<PairsThere> pairs_;
};

}  // namespace far
}  // namespace kernweave
