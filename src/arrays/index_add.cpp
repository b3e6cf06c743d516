// Adding by numbers of 32 bits, and the look at numbers that comes before.
#include "arrays/index_add-inl.hpp"

#include <cmath>

namespace kernweave::arrays {

bool serves_grouping(const IndexAdd& task, Index items, bool whole) {
  const bool many = task.shape.extent > std::numeric_limits<std::int32_t>::max();
  return many || items > std::numeric_limits<std::int32_t>::max() || (whole && items < task.shape.extent / 4);
}

template <class Given>
Index first_outside(const Given* numbers, Index count, Index extent, const Workers& workers) {
  std::vector<Index> found(static_cast<std::size_t>(pieces_of(count)), 0);
  each_piece(workers, count, [&](Index piece, Index first, Index last) {
    const auto inside = [extent](Given number) {
      bool whole = number >= 1 && static_cast<double>(number) <= static_cast<double>(extent);
      if constexpr (std::is_same_v<Given, double>) whole = whole && number == std::trunc(number);
      return whole;
    };
    const Given* const at = std::find_if_not(numbers + first, numbers + last, inside);
    if (at != numbers + last) found[static_cast<std::size_t>(piece)] = at - numbers + 1;
  });
  const auto at = std::find_if(found.begin(), found.end(), [](Index place) { return place > 0; });
  return at == found.end() ? 0 : *at;
}

template Index first_outside(const int*, Index, Index, const Workers&);
template Index first_outside(const double*, Index, Index, const Workers&);

template Index first_mixed(const Grouping<std::int32_t>&, const Indices<std::int32_t>&, Index);
template void index_add(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, double,
                        const double*, double*);
template bool index_add(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, int,
                        const int*, int*);
template void index_mean(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, bool, double,
                         const double*, double*);

}  // namespace kernweave::arrays
