// Every limit and price of the CPU engine, with its origin.
#pragma once

namespace kernweave {

// --- CPU tiles ---

// Rows of a block, more than a tile has where columns are few, so that a block is worth its making, while their numbers
// fill no more than a quarter of a second cache of 1 MB.
inline constexpr long long kMostTileRows = 1024;
inline constexpr long long kBlockBytes = 262144;
// Columns: what lies along them should fill a third of a 48 KB first-level cache, beside the strip's own
// values; more than 512 gains nothing and lengthens the float32 sums between two flushes; fewer than 128 is not
// worth a flush.
inline constexpr long long kTileBytes = 16384;
inline constexpr long long kMostColumns = 512;
inline constexpr long long kFewestColumns = 128;
// Numbers of columns that strips of rows meet between two looks at the clock, which takes as long as some eighty.
inline constexpr long long kNumbersOfBeat = 2048;
// Columns of a first tile, for each place of a list, from which it is worth a first look: a look costs an evaluation of
// a pair and a sort of three groups a place, and spares entries that each take as long as 30 pairs
// (bench/notes/08-cpu-7.md).
inline constexpr long long kLookedAtOfPlace = 12;

// Tasks that a call is cut into where there are pairs enough: four for each of 16 cores, so that the last to
// finish wastes little. Fixed, so that results do not depend on the number of threads.
inline constexpr long long kTasks = 64;
// The fewest blocks of rows that meet a column whose numbers are computed ahead.
inline constexpr long long kWorthSharing = 2;
// Components of squared distances of which |y|^2 / 2 - <x, y> is better told first.
inline constexpr int kCpuFewestOfScreen = 2;
// In boxes: a leaf's columns are few, and a third of them come to lists that are not full, where a screen gives up. Of
// 1e5 points three components were a tenth quicker without, five a tenth and eight a fifth with one.
inline constexpr int kFewestOfScreenInBoxes = 5;
// Weights of a value that are worth a product of matrices.
inline constexpr int kFewestMultiplied = 8;

// Seconds per instruction of a number, on one thread of the CPU back end: a Gaussian of three components, about thirty,
// took 0.6 to 1.2 ns a pair in float64.
inline constexpr double kCpuSecondsPerInstruction = 3e-11;
// A call that computes nothing: plan to instructions, memory, results.
inline constexpr double kCpuSecondsPerCall = 1e-5;

// --- boxes of points ---

// Seconds for a point and level of a tree, and for each of its components, on one thread: 1e5 points and 12 levels took
// 26 ms of two components, 30 of three, 60 of eight. A tree is tried where that is a small part of what all pairs take.
inline constexpr double kSecondsPerPointOfLevel = 8e-9;
inline constexpr double kSecondsPerComponentOfLevel = 4e-9;
inline constexpr double kMostOfTree = 0.06;
// A tree of formulas with a part of folded points stays where only the part changes, as it does in iterations.
inline constexpr double kMostOfKeptTree = 0.12;
// Rows of a trial, and how much of the time of all pairs most of them may take by boxes.
inline constexpr long long kRowsOfTrial = 64;
inline constexpr double kWorthOfBoxes = 0.9;
// The columns, as a share, that most of them may look at for sums of exponentials: a pair takes half as long again.
inline constexpr double kMostSeen = 0.5;
// If a formula says which pairs exist, the time of all pairs, as a share: their loops are compiled whole, too.
inline constexpr double kWorkOfFused = 0.25;
// Points from which threads make a tree together: fewer are sorted as threads start.
inline constexpr long long kFewestOfSharedTree = 20000;
// Components above which two leaves are taken as one, and above twice as many four.
inline constexpr int kFewestOfJoinedLeaves = 3;
// Columns around a strip that are looked at for a first limit, for each place of a list; and places above which the
// look takes longer than the entries that it spares.
inline constexpr long long kLookedInBoxes = 6;
inline constexpr long long kMostLookedPlaces = 32;
// Strips of rows of a task: some 100 microseconds of work.
inline constexpr long long kStripsOfTask = 64;

// Pairs of a rectangle up to which several are dealt out as one list: above, each has work for all threads by itself,
// and computes once what depends on columns alone.
inline constexpr double kMostPairsOfList = 1e6;

}  // namespace kernweave
