// Every limit and price of the GPU engine, with its origin.
#pragma once

namespace kernweave {

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
// The rows and columns of a strip that asks once for a short way: the fastest for logsumexp (3.9 ms; two rows 4.3), and
// for lists (ten neighbours 5.6 ms where two rows took 6.4). A reduction that picks one term gains by two rows (the
// nearest 3.0 ms; 3.3).
inline constexpr int kGpuShortRows = 1;
inline constexpr int kGpuPickRows = 2;
inline constexpr int kGpuShortColumns = 16;
// Columns of a strip that keep the machine busy where a row takes most of the registers.
inline constexpr int kGpuColumns = 4;
// Rows and columns of a strip, and components of a loop that are written out, if rows are read from memory: each
// number read serves several pairs, and few are read ahead. Gaussians of 3e4 points with 64 and 100 components took 12
// and 19 ms in float64; with four rows, one column and loops written out 63 and 115, since registers spilled (H200).
inline constexpr int kGpuWideRows = 2;
inline constexpr int kGpuWideColumns = 8;
inline constexpr int kGpuWideComponents = 8;
// A row of more registers leaves room for one row only, and columns have to keep the machine busy.
inline constexpr int kGpuFewRowRegisters = 24;
// Columns of a tile: sums this long in float32 keep an error of 3e-7 (the baseline's figures), and 4 KB of shared
// memory.
inline constexpr int kGpuTile = 256;
// Shared memory of a tile, so that eight blocks fit a multiprocessor; what a launch gets without asking.
inline constexpr int kGpuTileBytes = 24576;
inline constexpr int kGpuMostTileBytes = 49152;
// The registers, of a thread's 255, that may be taken by the rows' numbers and states if there is more than one row, by
// what every pair needs if there are two rows (12, 16, 23 weights 8.1, 11.7, 15.5 ms on an H200, one row 11.6, 14.2,
// 22), by a strip, and by the numbers of one row or one column at all. A number that finds no room is read where it
// lies.
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
// The time of the interpreter over that of code that was written for a formula, to keep its launches short: 13 for a
// Gaussian of three components in float32, 3 of fifty, 7 for a long chain; 7, 4 and 7 in float64 (H100,
// bench/notes/18-gpu-3.md).
inline constexpr double kGpuInterpreted = 8;
// The time of a fused kernel, of a common kind, over that of such code: 1.1 to 1.7 for three components, 1.5 to 5 for
// fifty (H100, design/010-interpreter.md).
inline constexpr double kGpuFused = 4;
// Components of an inner product that is worth the way through tensor cores: their steps have sixteen.
inline constexpr int kGpuFewestOfProduct = 8;
// Their sums are cut off after each step, not rounded: with 0.9 of what the contracted form allows, terms were off
// by 5.4e-6, 5.5e-6 and 1.2e-5 for 17, 64 and 200 components (H100), where 5e-6 is asked for.
inline constexpr double kGpuMostStrain = 0.3;
// In float16's precision, of which that allows terms: one half of each number will do up to this strain, at which terms
// of random points are off by a thousandth.
inline constexpr double kGpuMostStrainOfHalves = 0.0015;
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
// Fewer where each share of the folded axis has to fill its own lists, and where it leaves a state for each of many
// weights: of 16 384 rows with 64 weights, 12 shares of the axis took 2.4 ms, of which 1 ms merged their states (H200).
inline constexpr int kGpuNearestBlocks = 6;
inline constexpr int kGpuSoftBlocks = 3;
// Registers that a row's states may take beside a tile's inner products: four rows and 64 products leave no more.
inline constexpr int kGpuMostTileStates = 12;
// Weights of a sum that are worth tensor cores (ten took 15 ms there and 8.4 without, a hundred 42 and 123: H100).
inline constexpr int kGpuFewestWide = 24;
// Weights of one block of threads. A hundred beside a Gaussian of three components took 44 ms in one block and 39 in
// two, which compute the pairs twice (H200). Pairs that begin with an inner product take as long as 64 weights or so.
inline constexpr int kGpuMostWide = 56;
inline constexpr int kGpuMostWideOfProduct = 128;
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
// The most blocks of threads for restricted pairs, which the device takes as they come; and how much longer each pair
// takes in a thread of one row than in a thread of many.
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
// The share of free memory that a call may take: pooled blocks do not always fit, and others use the device, too.
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
// The cost of one more number of a column for each pair that reads it, in the same instructions: a gradient whose
// points were read both scaled, which spares it a multiplication, and as they are took 5.7 ms, 5.3 without (H100,
// bench/notes/19-gpu-4.md).
inline constexpr double kGpuInstructionsOfNumber = 1.5;
// Three launches, results fetched.
inline constexpr double kGpuSecondsPerCall = 5e-5;
// A run of outer axes that takes less shares its launches with the others: it leaves most of the device idle, and what
// tensor cores and screens would spare it is less than a launch.
inline constexpr double kGpuSecondsTogether = 10 * kGpuSecondsPerCall;
// Runs of a launch, along the grid's third axis.
inline constexpr long long kGpuRunsOfLaunch = 32768;
// Driver, context, compiler: the first time a process asks (H100: 0.1 s context, 0.2 s first formula).
inline constexpr double kGpuSecondsToStart = 0.4;
// The time between two looks at the user's interrupt key.
inline constexpr double kGpuSecondsOfLaunch = 0.05;

}  // namespace kernweave
