// Landmarks: points whose columns stand for the whole matrix, chosen by randomly pivoted Cholesky.
#pragma once
#include "solve/entries.hpp"

namespace kernweave::solve {

struct Landmarks {
  RowIndices chosen;
  double residual = 0;  // mean of the diagonal that they leave
  double lowest = 0;    // the least that a number on the diagonal came to; below 0, the matrix is not definite
  Block factor;         // F, a column for each: F F' is what they stand for
};

// The stopping rule: `most` landmarks, or a rest of `tolerance` times the trace.
struct Enough {
  Index most;
  double tolerance = 0;
};

// Out of `among`, whose numbers on the diagonal are `diagonal`; fewer where nothing is left.
Landmarks choose_landmarks(Entries* entries, const RowIndices& among, Vector diagonal, const Enough& enough,
                           std::uint64_t seed);

}  // namespace kernweave::solve
