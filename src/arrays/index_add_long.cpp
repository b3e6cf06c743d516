// Adding by numbers of 64 bits, for arrays and sources with more slices than 32 bits count.
#include "arrays/index_add-inl.hpp"

namespace kernweave::arrays {

template Index first_mixed(const Grouping<Index>&, const Indices<Index>&, Index);
template void index_add(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, double,
                        const double*, double*);
template bool index_add(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, int,
                        const int*, int*);
template void index_mean(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, bool, double,
                         const double*, double*);

}  // namespace kernweave::arrays
