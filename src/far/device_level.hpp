// A level's far pairs on a device: boxes, matrices of classes, and batches of pairs.
#pragma once
#include "far/device_boxes.hpp"
#include "far/device_product.hpp"

namespace kernweave {
namespace far {

// Pairs of boxes of some targets.
struct DeviceBatches {
  int batches = 0, first_target = 0, targets = 0, count = 0;
  Block batch, sources, starts, numbers;
};

// Numbers of boxes, which one level after the other uses.
struct ExpansionBuffers {
  Block moments, locals, parts, waiting;
};

template <int D>
class DeviceLevel {
 public:
  DeviceLevel(Device* device, const Level<D>& level, const TreePair<D>& trees, std::size_t number, int power,
             const arrays::Workers& workers);

  // How many numbers it needs of each kind.
  std::int64_t moments() const { return sources_.count * numbers(); }
  std::int64_t locals() const { return targets_.count * numbers(); }
  std::int64_t parts() const { return has_parts() ? sources_.range_count * numbers() : 0; }
  std::int64_t waiting() const { return most_pairs_ * numbers(); }

  void add(const DevicePoints<D>& targets, const DevicePoints<D>& sources, const double* weights, double* sums,
           const ExpansionBuffers& buffers) const;

 private:
  std::int64_t shared_bytes() const;
  std::int64_t numbers() const { return std::int64_t{spread_.count()} * padded_; }  // of a box
  bool has_parts() const { return sources_.range_count > sources_.count; }

  void send_terms(const LevelTerms<D>& terms);
  void send_matrices(const Level<D>& level);
  void send_pairs(const Level<D>& level, const arrays::Workers& workers);
  void send_lists(const M2LBatches& lists);

  void find_moments(gpu::FarTask task, const DevicePoints<D>& sources, const double* weights,
                    const ExpansionBuffers& buffers) const;
  void apply(gpu::FarTask task, const DeviceBatches& pairs, const ExpansionBuffers& buffers) const;

  Device* const device_;
  const Spread spread_;
  const int terms_, padded_, degrees_;
  const double half_;
  int blocks_ = 0, width_ = 0, most_pairs_ = 0;
  DeviceBoxes<D> targets_, sources_;
  Block set_, ends_, permuted_, starts_, columns_, numbers_;
  std::vector<DeviceBatches> pairs_;
};

}  // namespace far
}  // namespace kernweave
