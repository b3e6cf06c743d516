// The matrix of a linear step, by its columns: the step is run on one unit vector after the other.
#include "distance/linear.hpp"

#include <algorithm>

#include "expr/table.hpp"

namespace kernweave {
namespace distance {
namespace {

using Lanes = std::vector<Lane>;

Lane component(const Lanes& value, int at) { return value[value.size() == 1 ? 0 : static_cast<std::size_t>(at)]; }

Lanes result_of(const Step& step, const std::vector<Lanes>& in) {
  const OpRow& r = row(step.op);
  Lanes out(static_cast<std::size_t>(step.width), Lane(0.0));
  Lane lanes[3];
  const auto at = [&](int d) {
    for (std::size_t k = 0; k < in.size(); ++k) lanes[k] = component(in[k], d);
    return lanes;
  };
  if (r.form == Form::loop) {
    Read<Lane> reads[3];
    for (std::size_t k = 0; k < in.size(); ++k) reads[k] = {in[k].data(), 1, static_cast<int>(in[k].size())};
    r.loop(reads, out.data(), step.width, step.attributes.data());
  } else if (r.form == Form::fold) {
    out[0] = r.start();
    for (int d = 0; d < fold_width(step); ++d) out[0] = r.next(out[0], at(d));
  } else {
    for (int d = 0; d < step.width; ++d) out[static_cast<std::size_t>(d)] = r.value(at(d));
  }
  return out;
}

}  // namespace

bool chooses(const LinearMap& map) {
  const auto is_one = [](const auto& terms) { return terms.size() == 1 && terms[0].second == 1; };
  return std::all_of(map.begin(), map.end(), is_one);
}

LinearMap map_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers) {
  std::vector<Lanes> in;
  for (std::size_t k = 0; k < step.in.size(); ++k) {
    in.push_back(Lanes(static_cast<std::size_t>(step.in[k].width), Lane(0.0)));
    for (std::size_t d = 0; d < numbers[k].size(); ++d) in[k][d] = Lane(numbers[k][d]);
  }
  LinearMap map(static_cast<std::size_t>(step.width));
  Lanes& own = in[argument];
  if (row(step.op).form == Form::elementwise) {
    std::fill(own.begin(), own.end(), Lane(1.0));
    const Lanes out = result_of(step, in);
    for (std::size_t c = 0; c < map.size(); ++c)
      map[c].emplace_back(own.size() == 1 ? 0 : static_cast<int>(c), out[c].v);
    return map;
  }
  for (std::size_t d = 0; d < own.size(); ++d) {
    own[d] = Lane(1.0);
    const Lanes out = result_of(step, in);
    for (std::size_t c = 0; c < map.size(); ++c)
      if (out[c].v != 0) map[c].emplace_back(static_cast<int>(d), out[c].v);
    own[d] = Lane(0.0);
  }
  return map;
}

}  // namespace distance
}  // namespace kernweave
