// How work is shared out on a GPU: threads of a block, and items of a thread, of every kernel of the verbs for arrays.
// Odd numbers of items a thread keep the threads of a warp in different banks of shared memory, as they read items that
// lie that far apart. tools/array_tiles.R prints this table.
#pragma once

namespace kernweave::arrays::cuda {

struct Tile {
  int threads, each;
  constexpr int items() const { return threads * each; }
};

// Merge sort's and merge's own numbers are CUB's, which knows them for each architecture.
//
//                                                        origin
constexpr Tile kReduceTile{128, 11};   // 8 bytes of a value and 4 of an end: 17 KB, a dozen blocks a multiprocessor
constexpr Tile kScanTile{128, 11};     // the same tiles, whose results lie where the values lay
constexpr Tile kWalkTile{128, 15};     // 4 bytes an item and 4 an end: 15 KB, a dozen blocks again
constexpr Tile kSearchTile{128, 15};   // keys of 8 bytes, places of 4: 23 KB
constexpr Tile kStream{256, 8};        // eight loads in flight for each thread that goes straight through memory

// A stretch without an end of so many items is read straight from memory, not by tiles.
constexpr int kLongRun = 4 * kReduceTile.items();

// Pieces of a reduction, each of which one block goes through: sixteen for each of 132 multiprocessors. Fixed, since
// sums depend on it.
constexpr int kMostPieces = 16 * 132;
constexpr int kLeastPiece = 2 * kReduceTile.items();
constexpr int kCarryThreads = 256;  // they put together what pieces leave open

// index_add(): threads of a block, the widest strip of a slice, items that are looked at one by one, pieces of items.
constexpr int kAddThreads = 128;
constexpr int kFewItems = 64;
constexpr int kLeastAddPiece = 64;
constexpr int kMostAddBlocks = kMostPieces;
constexpr int kAddInFlight = 4;

}  // namespace kernweave::arrays::cuda
