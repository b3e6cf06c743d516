// The numbers weighed before an engine is chosen, with their origin; the work of a pair.
#pragma once
#include "schedule/schedule.hpp"

namespace kernweave {

// Points on either axis from which a fact of the other's is worth its reading: an entry is read in about the time of
// a pair, so this keeps it under 2 % of the work.
inline constexpr long long kFewestPairsOfFact = 64;

// The most bytes of values of columns alone that are computed once a call, half of what a call may take above inputs
// and outputs. If there are more bytes, the values are computed once for each block of rows.
inline constexpr long long kSharedBytes = 32 << 20;

// Pairs from which boxes are thought of: below, all pairs take some milliseconds.
inline constexpr double kFewestPairsOfBoxes = 1e7;

// The rate of pageable copies to and from a GPU: 24 MB took 1.4 ms, 8 MB back 0.5 ms (H100).
inline constexpr double kGpuBytesPerSecond = 16e9;

// --- work.cpp ------------------------------------------------------------------------------------------------------
// The work of a pair, and the bytes that a call sends to a device and back.

// Instructions of a pair, about; a reduction's term takes one or two.
double work_per_pair(const Variant& variant);

// Bytes of a call's data and results, on their way to the GPU and back.
double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes);

}  // namespace kernweave
