// Every limit and price of the CPU engine, with its origin.
#pragma once

namespace kernweave {

// --- CPU tiles ---

// The most rows of a block. If columns are few, a block has more rows than a tile, so that it is worth making, as long
// as its numbers fill no more than a quarter of a second-level cache of 1 MB.
inline constexpr long long kMostTileRows = 1024;
inline constexpr long long kBlockBytes = 262144;
// The columns of a tile: their values should fill a third of a 48 KB first-level cache, beside the strip's own values.
// More than 512 columns gain nothing and lengthen the float32 sums between two flushes; fewer than 128 columns are not
// worth a flush.
inline constexpr long long kTileBytes = 16384;
inline constexpr long long kMostColumns = 512;
inline constexpr long long kFewestColumns = 128;
// The numbers of columns that strips meet between two looks at the clock; a look takes as long as some 80 numbers.
inline constexpr long long kNumbersOfBeat = 2048;
// The fewest columns of a first tile, per place of a list, that are worth a first look. A look costs an evaluation of a
// pair and a sort of three groups per place, and spares entries that each take as long as 30 pairs
// (bench/notes/08-cpu-7.md).
inline constexpr long long kLookedAtOfPlace = 12;

// The tasks that a call with enough pairs is cut into: four for each of 16 cores, so that the last task to finish
// wastes little. Fixed, so that results do not depend on the number of threads.
inline constexpr long long kTasks = 64;
// The fewest blocks of rows that meet a column whose numbers are computed ahead.
inline constexpr long long kWorthSharing = 2;
// The fewest components of squared distances for which the screen |y|^2 / 2 - <x, y> pays.
inline constexpr int kCpuFewestOfScreen = 2;
// The limit in boxes: a leaf has few columns, and a third of them meet lists that are not full, where a screen gives
// up. With 1e5 points, 3 components were a tenth quicker without a screen, 5 a tenth and 8 a fifth quicker with one.
inline constexpr int kFewestOfScreenInBoxes = 5;
// The fewest weights of a value that are worth a product of matrices.
inline constexpr int kFewestMultiplied = 8;

// Seconds per instruction and number, on one thread of the CPU back end: a Gaussian of three components, about thirty
// instructions, took 0.6 to 1.2 ns a pair in float64.
inline constexpr double kCpuSecondsPerInstruction = 3e-11;
// Seconds of a call that computes nothing: plan to instructions, memory, results.
inline constexpr double kCpuSecondsPerCall = 1e-5;

// --- boxes of points ---

// Seconds per point and level of a tree, and per component, on one thread: 1e5 points and 12 levels took 26 ms with 2
// components, 30 with 3, 60 with 8. A tree is tried if it takes a small part of the time of all pairs.
inline constexpr double kSecondsPerPointOfLevel = 8e-9;
inline constexpr double kSecondsPerComponentOfLevel = 4e-9;
inline constexpr double kMostOfTree = 0.06;
// The limit for formulas with a part of folded points: their tree stays if only the part changes, as in iterations.
inline constexpr double kMostOfKeptTree = 0.12;
// The rows of a trial, and the share of the time of all pairs that most rows may take by boxes.
inline constexpr long long kRowsOfTrial = 64;
inline constexpr double kWorthOfBoxes = 0.9;
// The share of columns that most rows may look at for sums of exponentials, which take half as long again per pair.
inline constexpr double kMostSeen = 0.5;
// The time of all pairs, as a share, if a formula says which pairs exist: their loops are compiled whole, too.
inline constexpr double kWorkOfFused = 0.25;
// The fewest points of a tree that threads make together: fewer points are sorted as fast as threads start.
inline constexpr long long kFewestOfSharedTree = 20000;
// The number of components above which two leaves are taken as one; above twice the number, four leaves are.
inline constexpr int kFewestOfJoinedLeaves = 3;
// The columns around a strip that are looked at for a first limit, per place of a list; and the number of places above
// which the look takes longer than the entries that it spares.
inline constexpr long long kLookedInBoxes = 6;
inline constexpr long long kMostLookedPlaces = 32;
// Strips of rows of a task: some 100 microseconds of work.
inline constexpr long long kStripsOfTask = 64;

// The most pairs of a rectangle that is dealt out in one list with others. A larger rectangle has work for all threads
// by itself, and computes the values that depend on columns alone once.
inline constexpr double kMostPairsOfList = 1e6;

}  // namespace kernweave
