// Bytes, counted from panels, states and widths.
#include "cuda/memory_needs.hpp"

#include <algorithm>

#include "kernweave/gpu/script.hpp"

namespace kernweave {
namespace cuda {
namespace {

double bytes_of_block(const Pass& pass) {
  std::int64_t bytes = 0;
  for (int number : pass.group.outputs) {
    const Output& o = pass.variant->outputs[number];
    if (o.keep == pass.lane_keep()) bytes += state_bytes(o) * o.width;
  }
  return static_cast<double>(bytes) * pass.shape.block_rows * pass.shape.parts;
}

}  // namespace

double Needs::all(std::int64_t lanes, std::int64_t sweep) const {
  const double m = static_cast<double>(lanes), n = static_cast<double>(sweep);
  return lane * m + this->sweep * n + pair * m * n + fixed;
}

Needs needs_of(const Pass& pass) {
  const double halves = pass.product.any() ? static_cast<double>(pass.product.padded_width() * kTwoHalves + 8) : 0.0;
  const double weights = pass.wide.any() ? static_cast<double>(pass.wide.padded_width() * kTwoHalves) : 0.0;
  Needs needs;
  needs.lane = halves + (pass.stores_rows() ? pass.lanes.total * pass.number_bytes() : 0);
  needs.sweep = halves + weights + pass.sweep.total * pass.number_bytes();
  needs.state = bytes_of_block(pass);
  needs.fixed = pass.once.total * pass.number_bytes();
  return needs;
}

double bytes_of_column(const Pass& pass) {
  const Axis axis = pass.group.along_i ? Axis::j : Axis::i;
  double bytes = needs_of(pass).sweep;
  for (const Variable& v : pass.plan->variables)
    if (v.axis == axis && v.source != Source::counter) bytes += v.width * 8;
  return bytes;
}

std::int64_t state_bytes(const Output& o) {
  const std::int64_t bytes = row(o.red).state.bytes(o.places);
  // A state that has been merged leaves its place to the results of a list.
  return o.places > 1 ? std::max<std::int64_t>(bytes, gpu::kResultBytes * o.places) : bytes;
}

}  // namespace cuda
}  // namespace kernweave
