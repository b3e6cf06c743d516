// Shares of work on a GPU: threads that work together, and items of a thread, for every kernel of the verbs for arrays.
// With an odd number of items a thread, the threads of a warp use different banks of shared memory when they read items
// that far apart. tools/array_tiles.R prints this table.
#pragma once

namespace kernweave::arrays::cuda {

struct Tile {
  int threads, each;
  constexpr int items() const { return threads * each; }
};

// The sizes for merge sort and merge come from CUB, which knows them for each architecture.
//
//                                                        origin
constexpr Tile kReduceTile{32, 11};    // a warp: 8 bytes an item, 4 an end: 3.5 KB, for 60 warps a multiprocessor
constexpr Tile kScanTile{32, 11};      // a warp; results overwrite the items
constexpr Tile kOrderTile{32, 32};     // a warp, in registers; places of items go out through 4 KB
constexpr Tile kWalkTile{128, 15};     // 4 bytes an item and 4 an end: 15 KB, a dozen blocks again
constexpr Tile kSearchTile{128, 15};   // keys of 8 bytes, places of 4: 23 KB
constexpr Tile kStream{256, 8};        // eight loads in flight for each thread that goes straight through memory

constexpr int kWarp = 32;
constexpr int kPieceThreads = 4 * kWarp;  // threads of a block of warps that do not wait for each other
constexpr int kOrderThreads = 4 * kWarp;
constexpr int kInFlight = 4;              // loads of 16 bytes for each thread of a warp that reads a stretch

// The ends of segments that a tile knows, and the items of a segment that one thread takes alone: the thread takes as
// long for these items as a warp takes for the few segments of that length that a tile has, one after the other.
constexpr int kTileEnds = kReduceTile.items() / 2;
constexpr int kAlone = 64;

// The most pieces of a reduction, each for one warp: 64 for each of 132 multiprocessors. The number is fixed, since
// sums depend on it.
constexpr int kMostPieces = 64 * 132;
constexpr int kLeastPiece = 2 * kReduceTile.items();
constexpr int kCarryThreads = 1024;  // they merge the open segments of pieces

// index_add(): threads of a block; items that every block puts in order for itself; items whose order is found by
// counting, and which a thread for each number then adds; pieces of more items.
constexpr int kAddThreads = 128;
constexpr int kFewItems = 64;
constexpr int kRankedItems = 1024;
constexpr int kLeastAddPiece = 64;
constexpr int kMostAddBlocks = 16 * 132;
constexpr int kAddInFlight = 4;

}  // namespace kernweave::arrays::cuda
