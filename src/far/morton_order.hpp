// The Morton order of the points of a side, along the Z-curve that fills their cube: those of a box, of whatever size,
// lie together.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arrays/buffer.hpp"
#include "base/view.hpp"
#include "device/device.hpp"
#include "far/cube.hpp"

namespace kernweave {
namespace far {

template <class Item>
using Fresh = arrays::Fresh<Item>;

// Numbers of points in that order, and their components one after the other, on a device.
struct SortedDevicePoints {
  device::Device* device;
  device::Block order, components;
};

template <int D>
class MortonOrder {
 public:
  // Halvings of the cube: as many as keys of 63 bits have room for, and places of type int.
  static constexpr int kHalvings = D == 3 ? 21 : 30;
  // The numbers that may be read behind the last point.
  static constexpr int kBehind = 32;

  virtual ~MortonOrder() = default;

  int size() const { return size_; }
  int inside() const { return inside_; }  // points in the cube; the others lie behind them

  // Ends of the 2^D parts of boxes of a level, which are given by their points, box by box.
  virtual std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                         const arrays::Workers& workers) const = 0;
  // Frees the keys, once no more levels are wanted.
  virtual void forget_keys() = 0;

  virtual const Fresh<int>& order() const = 0;  // the points' numbers
  // In that order; the last point once more, `kBehind` times.
  virtual const std::array<Fresh<double>, D>& components() const = 0;
  virtual std::shared_ptr<const SortedDevicePoints> on(device::Device* device) const;

 protected:
  int size_ = 0, inside_ = 0;
};

template <int D>
std::unique_ptr<MortonOrder<D>> morton_order(const Points& points, const Cube<D>& cube, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
