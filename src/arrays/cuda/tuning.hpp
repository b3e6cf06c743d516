// Shares of work on a GPU: threads that work together, and items of a thread, of every kernel of the verbs for
// arrays. Odd numbers of items a thread keep the threads of a warp in different banks of shared memory, as they read
// items that lie that far apart. tools/array_tiles.R prints this table.
#pragma once

namespace kernweave::arrays::cuda {

struct Tile {
  int threads, each;
  constexpr int items() const { return threads * each; }
};

// Merge sort's and merge's own numbers are CUB's, which knows them for each architecture.
//
//                                                        origin
constexpr Tile kReduceTile{32, 11};    // of a warp: 8 bytes an item, 4 an end: 3.5 KB, for 60 warps a multiprocessor
constexpr Tile kScanTile{32, 11};      // of a warp, whose results lie where the items lay
constexpr Tile kOrderTile{32, 32};     // of a warp, in registers; places of items go out through 4 KB
constexpr Tile kWalkTile{128, 15};     // 4 bytes an item and 4 an end: 15 KB, a dozen blocks again
constexpr Tile kSearchTile{128, 15};   // keys of 8 bytes, places of 4: 23 KB
constexpr Tile kStream{256, 8};        // eight loads in flight for each thread that goes straight through memory

constexpr int kWarp = 32;
constexpr int kPieceThreads = 4 * kWarp;  // of a block of warps that do not wait for each other
constexpr int kOrderThreads = 4 * kWarp;
constexpr int kInFlight = 4;              // loads of 16 bytes for each thread of a warp that reads a stretch

// The ends of segments that a tile knows, and the items of a segment that one thread takes alone: the thread takes as
// long for these items as a warp takes for the few segments of that length that a tile has, one after the other.
constexpr int kTileEnds = kReduceTile.items() / 2;
constexpr int kAlone = 64;

// Pieces of a reduction, each of which one warp goes through: 64 for each of 132 multiprocessors. Fixed, since sums
// depend on it.
constexpr int kMostPieces = 64 * 132;
constexpr int kLeastPiece = 2 * kReduceTile.items();
constexpr int kCarryThreads = 1024;  // they put together what pieces leave open

// index_add(): threads of a block, items that every block puts in order for itself, items whose order is found by
// counting and that are then added by a thread for each number, pieces of more items.
constexpr int kAddThreads = 128;
constexpr int kFewItems = 64;
constexpr int kRankedItems = 1024;
constexpr int kLeastAddPiece = 64;
constexpr int kMostAddBlocks = 16 * 132;
constexpr int kAddInFlight = 4;

}  // namespace kernweave::arrays::cuda
