// Every constant of the cost model, with its origin.
#pragma once

namespace kernweave {

// Seconds per step and component on the reference back end: bench/run.R, case "gaussian", took 107 to
// 133 ns for the 8 of them in a pair on a 2-core x86_64 machine (bench/notes.md). Good to a factor of two,
// which is all explain() promises; redo when reference/evaluate.cpp changes.
inline constexpr double kReferenceSecondsPerStep = 1.5e-8;

// Steps between two looks at the user's interrupt key: about 1 ms of work, so the look (some
// microseconds) costs under 1 % and Ctrl-C is answered at once.
inline constexpr long long kStepsBetweenPolls = 100000;

// Points on either axis from which a fact of the other's is worth its reading: an entry is read in about the time of
// two pairs, so this keeps it under 2 % of the work.
inline constexpr long long kFewestPairsOfFact = 128;

// --- CPU tiles ---

// Rows of a tile: each number packed for its columns serves that many pairs, so packing (about two
// instructions a number) stays under 2 % of the work of a pair. More rows leave fewer tasks to share out.
inline constexpr long long kTileRows = 128;
// Columns: what lies along them should fill a third of a 48 KB first-level cache, beside the strip's own
// values; more than 512 gains nothing and lengthens the float32 sums between two flushes; fewer than 128 is not
// worth a flush.
inline constexpr long long kTileBytes = 16384;
inline constexpr long long kMostColumns = 512;
inline constexpr long long kFewestColumns = 128;
// What depends on columns alone is computed once a call where it takes no more than this, half of what a call may take
// above inputs and outputs; else once for each block of rows.
inline constexpr long long kSharedBytes = 32 << 20;

// Tasks that a call is cut into where there are pairs enough: four for each of 16 cores, so that the last to
// finish wastes little. Fixed, so that results do not depend on the number of threads.
inline constexpr long long kTasks = 64;
// Pairs below which a task is not cut further: about 50 microseconds of work, twice a thread's start.
inline constexpr double kPairsOfTask = 65536;

// Between two looks at the user's interrupt key: a look takes microseconds, an answer within 0.2 s is asked for.
inline constexpr int kMillisecondsBetweenPolls = 50;

// Seconds per instruction of a number, on one thread of the CPU back end: a Gaussian of three components, about thirty,
// took 0.6 to 1.2 ns a pair in float64 (bench/notes.md).
inline constexpr double kCpuSecondsPerInstruction = 3e-11;
// A call that computes nothing: plan to instructions, memory, results.
inline constexpr double kCpuSecondsPerCall = 1e-5;

}  // namespace kernweave
