// Landmarks: points whose columns stand for the whole matrix, chosen by randomly pivoted Cholesky.
#pragma once
#include "solve/entries.hpp"

namespace kernweave::solve {

struct Landmarks {
  Places chosen;
  double residual = 0;  // mean of the diagonal that they leave
};

// At most so many out of `among`, whose numbers on the diagonal are `diagonal`; fewer where nothing is left.
Landmarks choose_landmarks(Entries* entries, const Places& among, Vector diagonal, Index most, std::uint64_t seed);

}  // namespace kernweave::solve
