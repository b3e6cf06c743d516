// The costs of rows, spans and tasks of pairs, with the origin of each number.
#pragma once

namespace kernweave {

// Rows of a tile: each number packed for its columns serves that many pairs, so packing (about two
// instructions a number) stays under 2 % of the work of a pair. More rows leave fewer tasks to share out.
inline constexpr long long kTileRows = 128;
// Pairs below which a task is not cut further: about 50 microseconds of work, twice a thread's start.
inline constexpr double kPairsOfTask = 65536;

// --- Restricted pairs ---

// Beginning a span of a block of rows, or these rows, takes as long as so many columns.
inline constexpr double kColumnsOfSpan = 24;
// Setting out a column takes as long as so many rows.
inline constexpr double kRowsOfColumn = 8;
// A pair of which a formula says whether it exists takes so many times as long.
inline constexpr double kWorkOfPartial = 2;
// Units of a task, to be dealt out.
inline constexpr double kUnitsOfTask = 8;

}  // namespace kernweave
