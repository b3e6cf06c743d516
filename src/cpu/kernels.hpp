// Declares what each instruction set offers: the strip machine in both precisions, and the states of its lanes.
#pragma once
#include <cstdint>
#include "cpu/strip.hpp"
#include "kernweave/chain.hpp"

namespace kernweave {

// The states of one reduction, as functions. Lane states hold many rows at once in the precision of the strip; row
// states hold one row in float64 and take in what lane states have gathered.
struct StateKernel {
  bool adds;                // its lane states go to the row states after every tile, for accuracy
  bool looks;               // does it take a sample of its terms first?
  std::int64_t lane_bytes;  // of one vector of lanes
  std::int64_t (*lane_storage)(int places);
  void (*lane_init)(void* state, void* storage, int places);
  void (*lane_restart)(void* state);  // of states that add: as if nothing had been added
  void (*lane_look)(void* state);     // begins the sample: terms are not taken in until lane_end_look()
  void (*lane_end_look)(void* state);
  void (*lane_names)(void* state, const long long* names);  // of states that note places (red/term_order.hpp)
  double (*lane_limit)(const void* state);                  // limit() in the lane in which most terms matter; NaN: all
  std::int64_t row_bytes;
  std::int64_t (*row_storage)(int places);
  void (*row_init)(void* rows, std::int64_t count, void* storage,
                   int places);                             // consecutive ones, and so is their storage
  void (*flush)(void* rows, const void* lanes, int count);  // consecutive row states take in a lane each
  void (*merge)(void* row, const void* later);
  void (*finish)(const void* rows, std::int64_t count, int places, double* values, long long* indices);  // row by row
};

// A loop compiled for pairs of one kind (fused-inl.hpp), and all of them.
struct FusedLoop {
  Op fold;
  Red reduction;
  Weight weight;
  bool summed;    // are the terms of a slope summed up by themselves, too?
  const CallRow* calls;
  int length;
  void (*run)(const Frame& frame);
  void (*screened)(const Frame& frame);  // the same with a screen (screen-inl.hpp), if there is one
};
struct FusedLoopList {
  const FusedLoop* at;
  int count;
};

struct TileKernel {
  int vectors, columns, lanes;                      // of a strip; lanes of one vector
  std::int64_t (*room)(std::int64_t instructions);  // bytes that a program takes when it runs
  void (*run)(const Frame& frame);
  FusedLoopList (*fused)();
  void (*multiply)(const Product& product);  // adds a tile's values, weighed, to its sums
  const StateKernel* states;                 // by Red
};

// Returns the kernel of the instruction set in use.
const TileKernel& tile_kernel(bool float32);

extern const TileKernel tile_base_float, tile_base_double;
#if defined(__x86_64__)
extern const TileKernel tile_avx2_float, tile_avx2_double, tile_avx512_float, tile_avx512_double;
#endif

}  // namespace kernweave
