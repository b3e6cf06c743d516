// Manages the memory and order of row states; only their kernels know their contents.
#include "cpu/outputs.hpp"

#include <algorithm>

namespace kernweave {

RowShape::RowShape(const Pass& pass, const Variant& variant, const TileKernel& kernel) {
  for (const PassOutput& o : pass.outputs) {
    const Output& output = variant.outputs[o.number];
    if (output.keep == Keep::both) continue;
    const StateKernel& states = kernel.states[static_cast<int>(output.red)];
    parts.push_back({&states, &output, o.number, o.lane_state, states.row_storage(output.places), o.turned});
  }
}

void RowStates::init(const RowShape& shape, std::int64_t rows) {
  shape_ = &shape;
  rows_ = rows;
  first_.clear();
  storage_.clear();
  std::int64_t bytes = 0;
  for (const RowShape::OutputState& part : shape.parts) {
    const std::int64_t states = rows * part.output->width;
    first_.push_back(bytes);
    storage_.push_back(bytes + states * part.kernel->row_bytes);
    bytes += states * (part.kernel->row_bytes + part.storage);
  }
  memory_.resize(static_cast<std::size_t>(bytes / 8 + 1));
  char* const memory = reinterpret_cast<char*>(memory_.data());
  for (std::size_t p = 0; p < shape.parts.size(); ++p) {
    const RowShape::OutputState& part = shape.parts[p];
    part.kernel->row_init(memory + first_[p], rows * part.output->width, memory + storage_[p], part.output->places);
  }
}

void* RowStates::at(std::size_t part, int component, std::int64_t row) {
  return reinterpret_cast<char*>(memory_.data()) + first_[part] +
         (component * rows_ + row) * shape_->parts[part].kernel->row_bytes;
}

void RowStates::merge(RowStates& later) {
  for (std::size_t p = 0; p < shape_->parts.size(); ++p)
    for (int c = 0; c < shape_->parts[p].output->width; ++c)
      for (std::int64_t r = 0; r < rows_; ++r) shape_->parts[p].kernel->merge(at(p, c, r), later.at(p, c, r));
}

void RowStates::merge_rows(RowStates& later, std::int64_t count, std::size_t part) {
  for (int c = 0; c < shape_->parts[part].output->width; ++c)
    for (std::int64_t r = 0; r < count; ++r) shape_->parts[part].kernel->merge(at(part, c, 0), later.at(part, c, r));
}

// Writes results, which lie as rows x places x components.
void RowStates::finish(std::size_t part, std::int64_t count, std::int64_t first, std::int64_t rows_of_result,
                       const Result& result, const std::int64_t* order) {
  const Output& output = *shape_->parts[part].output;
  const std::int64_t places = output.places;
  values_.resize(static_cast<std::size_t>(count * places));
  indices_.resize(values_.size());
  for (int c = 0; c < output.width; ++c) {
    shape_->parts[part].kernel->finish(at(part, c, 0), count, output.places, values_.data(), indices_.data());
    if (shape_->parts[part].turned)
      for (double& value : values_) value = 0.0 - value;
    for (std::int64_t p = 0; p < places; ++p) {
      const std::int64_t column = rows_of_result * (p + places * c);
      if (!order) result.put(column + first, count, values_.data() + p, indices_.data() + p, places);
      for (std::int64_t r = 0; r < count && order; ++r)
        result.put(column + order[first + r], values_[static_cast<std::size_t>(r * places + p)],
                   indices_[static_cast<std::size_t>(r * places + p)]);
    }
  }
}

SingleFold::SingleFold(const Output& output)
    : state_(row(output.red).state),
      places_(output.places),
      plain_(output.red == Red::Sum),
      memory_((state_.size + static_cast<std::size_t>(state_.storage(places_))) / sizeof(std::int64_t) + 2),
      values_(static_cast<std::size_t>(places_)),
      indices_(static_cast<std::size_t>(places_)) {}

void SingleFold::write(double value, double weight, std::int64_t at, std::int64_t pairs, int component,
                       const Result& result) {
  void* const state = memory_.data();
  state_.init(state, memory_.data() + state_.size / sizeof(std::int64_t) + 1, places_);
  state_.step(state, Lane(value), Lane(weight), at + 1, true);
  state_.finish(state, values_.data(), indices_.data());
  for (int p = 0; p < places_; ++p) {
    const std::int64_t to = at + pairs * (p + static_cast<std::int64_t>(places_) * component);
    result.put(to, values_[p].v, indices_[p]);
  }
}

}  // namespace kernweave
