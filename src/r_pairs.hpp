// Pair maps as R holds them: behind external pointers, with a word on which axis is which.
#pragma once
#include "border.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {

// NULL, or a list of a map and whether i and j are the other way round.
ExistingPairs pairs_from_r(SEXP pairs);

}  // namespace kernweave
