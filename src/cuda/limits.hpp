// The limits of the GPU engine and the constants of its time estimates, with their origin.
#pragma once

namespace kernweave {

// Threads of a block, rows of a thread, columns of an unrolled loop: the fastest of eight shapes for Gaussian, gradient
// and Cauchy sums on an H100; among 3, 4, 5, 6 and 8 rows on an H200, five in float32 (Gaussian 2.9 ms, four 3.1), four
// in float64 (14.4, five 15.5).
inline constexpr int kGpuThreads = 128;
inline constexpr int kGpuRows = 5;
inline constexpr int kGpuRowsOfDoubles = 4;
inline constexpr int kGpuUnrolled = 8;
// The fewest iterations for which a loop is unrolled: without unrolling, a formula of float64 functions takes a third
// of the time to compile.
inline constexpr long long kGpuTurnsToUnroll = 64;
// The rows and columns of a strip that tests once for the fast path: the fastest for logsumexp (3.9 ms; two rows took
// 4.3) and for lists (ten neighbours 5.6 ms; two rows 6.4). A reduction that picks one term is faster with two rows
// (the nearest 3.0 ms; otherwise 3.3).
inline constexpr int kGpuShortRows = 1;
inline constexpr int kGpuPickRows = 2;
inline constexpr int kGpuShortColumns = 16;
// The columns of a strip if a row takes most of the registers: several columns hide latency.
inline constexpr int kGpuColumns = 4;
// Rows and columns of a strip, and components of a loop that are written out, if rows are read from memory: each number
// read serves several pairs, and few are read ahead. Gaussians of 3e4 points with 64 and 100 components took 12 and 19
// ms in float64. With four rows, one column and loops written out: 63 and 115, since registers spilled (H200).
inline constexpr int kGpuWideRows = 2;
inline constexpr int kGpuWideColumns = 8;
inline constexpr int kGpuWideComponents = 8;
// A row of more registers leaves room for one row only, so strips get kGpuColumns columns.
inline constexpr int kGpuFewRowRegisters = 24;
// Columns of a tile: sums of this length in float32 keep an error of 3e-7 (the baseline's figures), and a tile takes 4
// KB of shared memory.
inline constexpr int kGpuTile = 256;
// Bytes of a tile's shared memory with which eight blocks fit a multiprocessor, and the most bytes without a request.
inline constexpr int kGpuTileBytes = 24576;
inline constexpr int kGpuMostTileBytes = 49152;
// The most of a thread's 255 registers for: several rows' numbers and states; two rows' numbers that every pair needs
// (12, 16, 23 weights 8.1, 11.7, 15.5 ms on an H200, one row 11.6, 14.2, 22); a strip; the numbers of one row; the
// numbers of one column. Other numbers are read from memory.
inline constexpr int kGpuRowRegisters = 96;
inline constexpr int kGpuPairRegisters = 64;
inline constexpr int kGpuStripRegisters = 64;
inline constexpr int kGpuMostRowRegisters = 120;
inline constexpr int kGpuMostColumnRegisters = 16;
// The most steps of a pair that are compiled at run time: 430 steps (six warped series) took 1.5 s in float32 and 2.4 s
// in float64, 830 took 5 and 9 s, 1 900 took 48 s.
inline constexpr int kGpuMostSteps = 512;
// The most instructions of a strip's code, estimated: a strip with 96 logarithms in float64 made 226 KB of kernels
// without a limit, and 91 KB with it.
inline constexpr double kGpuLongestStrip = 2048;
// The most numbers in registers that are the same for all pairs.
inline constexpr int kGpuMostOnce = 16;
// The fewest threads of a block of the interpreter (with fewer, the CPU is as fast), and the most bytes of its shared
// memory, which all devices from capability 8.0 on have.
inline constexpr int kGpuFewestThreads = 8;
inline constexpr int kGpuMostShared = 98304;
// The ratio of the interpreter's time to that of code compiled for a formula, which limits its launches: 13 for a
// Gaussian of three components in float32, 3 of fifty, 7 for a long chain; 7, 4 and 7 in float64 (H100,
// bench/notes/18-gpu-3.md).
inline constexpr double kGpuInterpreted = 8;
// The ratio of a fused kernel's time to that of code compiled for a formula: 1.1 to 1.7 for three components, 1.5 to 5
// for fifty (H100, design/010-interpreter.md).
inline constexpr double kGpuFused = 4;
// The fewest components of an inner product for tensor cores, which add up sixteen at a time.
inline constexpr int kGpuFewestOfProduct = 8;
// The most strain for tensor cores, which truncate sums and do not round them: at a strain of 0.9, errors of terms were
// 5.4e-6, 5.5e-6 and 1.2e-5 for 17, 64 and 200 components (H100); 5e-6 is allowed.
inline constexpr double kGpuMostStrain = 0.3;
// The most strain at which tensor cores take each number as one float16, in the precision float16: errors of terms of
// random points are then a thousandth.
inline constexpr double kGpuMostStrainOfHalves = 0.0015;
// The fewest components of squared distances that tensor cores screen: so many, and more for each place of a list. For
// 1e5 x 1e5 points (H100) of 16 components, one nearest took 9 ms with a screen, ten took 21; all distances take 1 ms
// for each component.
inline constexpr double kGpuFewestOfNearest = 10;
inline constexpr double kGpuNearestOfPlace = 1.6;
// The fewest components for which |y|^2 - 2 <x, y> in threads is faster than differences and their squares.
inline constexpr int kGpuFewestOfScreen = 2;
// The most blocks for each multiprocessor with tensor cores. A multiprocessor runs two at a time, and the baseline's
// prototype had six rounds.
inline constexpr int kGpuProductBlocks = 12;
// Fewer blocks if each split fills its own lists, and if it leaves a state for each of many weights: for 16 384 rows
// with 64 weights, 12 splits took 2.4 ms, of which 1 ms merged their states (H200).
inline constexpr int kGpuNearestBlocks = 6;
inline constexpr int kGpuSoftBlocks = 3;
// The most registers of a row's states beside a tile's inner products: four rows and 64 products leave no more.
inline constexpr int kGpuMostTileStates = 12;
// The fewest weights of a sum for tensor cores (ten took 15 ms with them and 8.4 without, a hundred 42 and 123: H100).
inline constexpr int kGpuFewestWide = 24;
// The most weights of a block of threads. A hundred weights with a Gaussian of three components took 44 ms in one block
// and 39 in two, which compute the pairs twice (H200). Pairs with an inner product take as long as about 64 weights.
inline constexpr int kGpuMostWide = 56;
inline constexpr int kGpuMostWideOfProduct = 128;
// The longest list that is kept in registers: a number and its row number take three registers in float64.
inline constexpr int kGpuLongestList = 16;
// The most blocks for each multiprocessor: several waves, so that the last one is short. Fewer blocks for states with a
// fast path, which is rarely valid at the start of a split, and for reductions that pick terms. The fastest among 16,
// 32, 48 and 64, and among 12 to 36, for Gaussian, Laplacian and logsumexp on an H200; ten neighbours took 4.6, 5.2 and
// 5.5 ms with 12, 24 and 32.
inline constexpr int kGpuBlocks = 48;
inline constexpr int kGpuShortBlocks = 36;
inline constexpr int kGpuPickBlocks = 12;
// An estimate of the blocks that a multiprocessor runs at the same time, before code is compiled.
inline constexpr int kGpuResidentBlocks = 8;
// The most blocks of threads for restricted pairs; and the extra time of a pair in a thread of one row, over its time
// in a thread of many rows.
inline constexpr long long kGpuUnits = 8192;
inline constexpr double kGpuWorkOfColumn = 0.6;
// The fewest columns of a split: fewer columns take less time than the start and the state of a split.
inline constexpr long long kGpuFewestColumns = 64;
// The fewest splits whose states are merged in groups: merging 4 223 states in sequence took 0.45 ms (H200), merging 64
// takes the time of a launch.
inline constexpr long long kGpuFewestGrouped = 64;
// The most bytes of states that wait to be merged.
inline constexpr double kGpuWorkBytes = 512e6;
// A call that takes a smaller share of a device's memory does not ask the driver how much is free: the question takes
// longer than a small call.
inline constexpr double kGpuModestShare = 1.0 / 16;
// The share of free memory that a call may take: pooled blocks do not always fit, and others also use the device.
inline constexpr double kGpuUsableShare = 0.9;
// The most bytes of data and numbers of one split, which is on a device at a time: devices of 2 GB suffice.
inline constexpr double kGpuSplitBytes = 256e6;
// A GPU in time estimates. Instructions are counted as on the CPU: sixteen for an exponential, where a GPU needs one.
struct GpuMachine {
  double processors, clock, instructions_per_clock;
  double float64;  // speed of float64 over that of float32

  double rate(bool float32) const { return processors * clock * instructions_per_clock * (float32 ? 1.0 : float64); }
};
// The values of an H100 for all GPUs, so that the cut of the pairs depends on sizes alone. A Gaussian of three
// components took 3.9 ms for 1e10 pairs (bench/notes/16-gpu-1.md).
inline constexpr GpuMachine kGpuMachine{132, 1.9e9, 350, 0.25};
// The cost, in such instructions, of one more number of a column for each pair: a gradient that read both the points
// and the scaled points, which saves a multiplication, took 5.7 ms; with the points alone it took 5.3 (H100,
// bench/notes/19-gpu-4.md).
inline constexpr double kGpuInstructionsOfNumber = 1.5;
// The seconds of three launches and the download of results.
inline constexpr double kGpuSecondsPerCall = 5e-5;
// Runs of outer axes that take fewer seconds share their launches: a launch of one run would leave most of the device
// idle, and tensor cores and screens would save less than the time of a launch.
inline constexpr double kGpuSecondsTogether = 10 * kGpuSecondsPerCall;
// The most runs of a launch, along the grid's third axis.
inline constexpr long long kGpuRunsOfLaunch = 32768;
// The seconds to start driver, context and compiler, once per process (H100: 0.1 s context, 0.2 s first formula).
inline constexpr double kGpuSecondsToStart = 0.4;
// The seconds of a launch; the user may interrupt between launches.
inline constexpr double kGpuSecondsOfLaunch = 0.05;

}  // namespace kernweave
