// Every constant of the cost model, with its origin.
#pragma once

namespace kernweave {

// Seconds per step and component on the reference back end: bench/run.R, case "gaussian", took 107 to
// 133 ns for the 8 of them in a pair on a 2-core x86_64 machine. Good to a factor of two,
// which is all explain() promises; redo when reference/evaluate.cpp changes.
inline constexpr double kReferenceSecondsPerStep = 1.5e-8;

// Steps between two looks at the user's interrupt key: about 1 ms of work, so the look (some
// microseconds) costs under 1 % and Ctrl-C is answered at once.
inline constexpr long long kStepsBetweenPolls = 100000;

// Points on either axis from which a fact of the other's is worth its reading: an entry is read in about the time of
// a pair, so this keeps it under 2 % of the work.
inline constexpr long long kFewestPairsOfFact = 64;

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
// What depends on columns alone is computed once a call where it takes no more than this, half of what a call may take
// above inputs and outputs; else once for each block of rows.
inline constexpr long long kSharedBytes = 32 << 20;

// Tasks that a call is cut into where there are pairs enough: four for each of 16 cores, so that the last to
// finish wastes little. Fixed, so that results do not depend on the number of threads.
inline constexpr long long kTasks = 64;
// How often a column must be met by blocks of rows for its numbers to be computed ahead.
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

// Pairs from which boxes are thought of: below, all pairs take some milliseconds.
inline constexpr double kFewestPairsOfBoxes = 1e7;
// Seconds for a point and level of a tree, and for each of its components, on one thread: 1e5 points and 12 levels took
// 26 ms of two components, 30 of three, 60 of eight. A tree is tried where that is a small part of what all pairs take.
inline constexpr double kSecondsPerPointOfLevel = 8e-9;
inline constexpr double kSecondsPerComponentOfLevel = 4e-9;
inline constexpr double kMostOfTree = 0.06;
// Rows of a trial, and how much of the time of all pairs most of them may take by boxes.
inline constexpr long long kRowsOfTrial = 64;
inline constexpr double kWorthOfBoxes = 0.9;
// Where a formula says which pairs exist, what all pairs take of that: their loops are compiled whole, too.
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

// --- GPU ---

// Threads of a block, rows of a thread, columns in a row of its code: the fastest of eight shapes for Gaussian,
// gradient and Cauchy sums on an H100; of 3, 4, 5, 6 and 8 rows on an H200, five in float32 (Gaussian 2.9 ms,
// four 3.1), four in float64 (14.4, five 15.5).
inline constexpr int kGpuThreads = 128;
inline constexpr int kGpuRows = 5;
inline constexpr int kGpuRowsOfDoubles = 4;
inline constexpr int kGpuUnrolled = 8;
// Turns of the unrolled loop that are worth its longer compilation: a formula of float64 functions takes a third of the
// time to compile where nothing is unrolled.
inline constexpr long long kGpuTurnsToUnroll = 64;
// Where a short way is asked for once a strip, rows and columns of the strip: the fastest for logsumexp there (3.9 ms;
// two rows 4.3), and for lists (ten neighbours 5.6 ms where two rows took 6.4). What picks one term gains by two rows
// (the nearest 3.0 ms; 3.3).
inline constexpr int kGpuShortRows = 1;
inline constexpr int kGpuPickRows = 2;
inline constexpr int kGpuShortColumns = 16;
// Columns of a strip that keep the machine busy where a row takes most of the registers.
inline constexpr int kGpuColumns = 4;
// Where rows are read from memory, more columns for each number read.
inline constexpr int kGpuWideColumns = 8;
// A row of more registers leaves room for one row only, and columns have to keep the machine busy.
inline constexpr int kGpuFewRowRegisters = 24;
// Columns of a tile: sums this long in float32 keep an error of 3e-7 (the baseline's figures), and 4 KB of shared
// memory.
inline constexpr int kGpuTile = 256;
// Shared memory of a tile, so that eight blocks fit a multiprocessor; what a launch gets without asking.
inline constexpr int kGpuTileBytes = 24576;
inline constexpr int kGpuMostTileBytes = 49152;
// Of the 255 registers of a thread: those that the rows' numbers and states may take where there is more than one row,
// those that two rows may take of what every pair needs (12, 16, 23 weights 8.1, 11.7, 15.5 ms on an H200, one
// row 11.6, 14.2, 22), those that a strip may take, and those that one row's or column's numbers may take at all. What
// finds no room is read where it lies.
inline constexpr int kGpuRowRegisters = 96;
inline constexpr int kGpuPairRegisters = 64;
inline constexpr int kGpuStripRegisters = 64;
inline constexpr int kGpuMostRowRegisters = 120;
inline constexpr int kGpuMostColumnRegisters = 16;
// Steps for each pair that are worth compiling when they are asked for: 430 of them (series of six warped) took 1.5 s
// in float32 and 2.4 s in float64, 830 took 5 and 9 s, 1 900 took 48 s.
inline constexpr int kGpuMostSteps = 512;
// Instructions of a strip's code, about: without a limit a strip with 96 logarithms in float64 made 226 KB of kernels,
// with it 91 KB.
inline constexpr double kGpuLongestStrip = 2048;
// Numbers that are the same for all pairs, kept in registers.
inline constexpr int kGpuMostOnce = 16;
// Threads of a block that interprets, at least: fewer leave a warp so idle that the CPU is as fast. The shared memory
// that it may ask for: all devices from capability 8.0 on have that.
inline constexpr int kGpuFewestThreads = 8;
inline constexpr int kGpuMostShared = 98304;
// How much longer the interpreter takes than code that was written for a formula, to keep its launches short: 13 times
// for a Gaussian of three components in float32, 3 of fifty, 7 for a long chain; 7, 4 and 7 in float64 (H100,
// bench/notes/18-gpu-3.md).
inline constexpr double kGpuInterpreted = 8;
// The same for a kernel of a common kind: 1.1 to 1.7 times for three components, 1.5 to 5 for fifty (H100,
// design/010-interpreter.md).
inline constexpr double kGpuFused = 4;
// Components of an inner product that is worth the way through tensor cores: their steps have sixteen.
inline constexpr int kGpuFewestOfProduct = 8;
// Their sums are cut off after each step, not rounded: with 0.9 of what the contracted form allows, terms were off
// by 5.4e-6, 5.5e-6 and 1.2e-5 for 17, 64 and 200 components (H100), where 5e-6 is asked for.
inline constexpr double kGpuMostStrain = 0.3;
// Components of squared distances that are better told from inner products first: so many, and more for each place of a
// list. Of 1e5 x 1e5 points (H100), one nearest of 16 components took 9 ms that way, ten 21, where all distances take
// one for each component.
inline constexpr double kGpuFewestOfNearest = 10;
inline constexpr double kGpuNearestOfPlace = 1.6;
// Components of narrower points, from which |y|^2 - 2 <x, y> takes less than differences and their squares.
inline constexpr int kGpuFewestOfScreen = 2;
// Blocks for each multiprocessor where they are used, which works on two at a time: the baseline's prototype had six
// rounds.
inline constexpr int kGpuProductBlocks = 12;
// Fewer where each share of the folded axis has to fill its own lists.
inline constexpr int kGpuNearestBlocks = 6;
// Registers that a row's states may take beside a tile's inner products: four rows and 64 products leave no more.
inline constexpr int kGpuMostTileStates = 12;
// Weights of a sum that are worth tensor cores (ten took 15 ms there and 8.4 without, a hundred 42 and 123: H100); and
// those whose sums a thread has registers for, beside those of a tile's terms: two rows of seven eights, twice.
inline constexpr int kGpuFewestWide = 24;
inline constexpr int kGpuMostWide = 56;
// Numbers of the longest list that is kept in registers: three times as many, with their row numbers.
inline constexpr int kGpuLongestList = 16;
// Blocks for each multiprocessor, at most: some waves of them, so that none waits long for the last ones. Fewer for
// states with a short way, since each share of the folded axis warms up its own, and where terms are picked. Of 16, 32,
// 48 and 64, and of 12 to 36, the fastest for Gaussian, Laplacian and logsumexp on an H200; ten neighbours
// took 4.6, 5.2 and 5.5 ms with 12, 24 and 32.
inline constexpr int kGpuBlocks = 48;
inline constexpr int kGpuShortBlocks = 36;
inline constexpr int kGpuPickBlocks = 12;
// Blocks that a multiprocessor works on at the same time, about, before it is known.
inline constexpr int kGpuResidentBlocks = 8;
// Of restricted pairs: blocks of threads at most, which the device takes as they come; and what a thread of one row
// takes more for each pair than one of many.
inline constexpr long long kGpuUnits = 8192;
inline constexpr double kGpuWorkOfColumn = 0.6;
// Columns below which a block's share is not cut further: less is not worth its start and its state.
inline constexpr long long kGpuFewestColumns = 64;
// Splits from which their states are merged in groups: one after the other, 4 223 took 0.45 ms (H200), 64 are done in
// the time of a launch.
inline constexpr long long kGpuFewestGrouped = 64;
// States of blocks that wait to be merged.
inline constexpr double kGpuWorkBytes = 512e6;
// A call that takes less of a device's memory does not ask the driver how much is free, which takes longer than a small
// call.
inline constexpr double kGpuModestShare = 1.0 / 16;
// What a call may take of what is free: pooled blocks do not always fit, and others use the device, too.
inline constexpr double kGpuUsableShare = 0.9;
// Data and numbers of the points of one split, the least that is on a device at a time: so that devices of 2 GB get by.
inline constexpr double kGpuSplitBytes = 256e6;
// A GPU as prices know it. Instructions of a multiprocessor in a clock are those that the CPU counts: it needs sixteen
// for an exponential, a GPU one.
struct GpuMachine {
  double processors, clock, instructions_per_clock;
  double float64;  // its speed, of float32's

  double rate(bool float32) const { return processors * clock * instructions_per_clock * (float32 ? 1.0 : float64); }
};
// An H100, whatever is there: so that how pairs are cut depends on sizes alone. A Gaussian of three components took 3.9
// ms for 1e10 pairs (bench/notes/16-gpu-1.md).
inline constexpr GpuMachine kGpuMachine{132, 1.9e9, 350, 0.25};
// What another number of a column costs each pair that reads it, in the same instructions: a gradient whose points were
// read both scaled, which spares it a multiplication, and as they are took 5.7 ms, 5.3 without (H100,
// bench/notes/19-gpu-4.md).
inline constexpr double kGpuInstructionsOfNumber = 1.5;
// To the device and back, pageable: 24 MB took 1.4 ms, 8 MB back 0.5 ms (H100).
inline constexpr double kGpuBytesPerSecond = 16e9;
// Three launches, results fetched.
inline constexpr double kGpuSecondsPerCall = 5e-5;
// Driver, context, compiler: the first time a process asks (H100: 0.1 s context, 0.2 s first formula).
inline constexpr double kGpuSecondsToStart = 0.4;
// Results left on a device between two calls of R's collector for what is young, which takes a few milliseconds.
inline constexpr double kGpuBytesBetweenCollections = 1e9;
// Between two looks at the user's interrupt key.
inline constexpr double kGpuSecondsOfLaunch = 0.05;

}  // namespace kernweave
