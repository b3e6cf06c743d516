// The decision how a plan runs on this machine at these sizes, and the estimated costs on which it depends. Knows no
// data and no R.
#pragma once
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>
#include "plan/growth.hpp"
#include "plan/plan.hpp"

namespace kernweave {

struct Sizes {
  std::int64_t i = 1;
  std::int64_t j = 1;
  std::vector<std::int64_t> outer{};  // extents of outer axes: a run for each of their points
  double share = 1;                   // share of all pairs that are computed
  int folded = 0;                     // number of the last outer axes that are folded, too

  std::int64_t runs() const { return product(outer.begin(), outer.end()); }
  // Returns the number of runs with results of their own; folded_runs(): the number of runs folded into each of them.
  std::int64_t kept_runs() const { return product(outer.begin(), outer.end() - folded); }
  std::int64_t folded_runs() const { return product(outer.end() - folded, outer.end()); }
  // Returns the number of pairs of one run that are computed; places() returns the number of all pairs.
  double pairs() const { return static_cast<double>(i) * static_cast<double>(j) * share; }
  double places() const { return static_cast<double>(i) * static_cast<double>(j); }

 private:
  using Extent = std::vector<std::int64_t>::const_iterator;
  static std::int64_t product(Extent first, Extent end) {
    return std::accumulate(first, end, std::int64_t{1}, std::multiplies<>());
  }
};

// The place where the data of a call lie and its results shall stay.
enum class Home { host, device };

// The use of bounds on boxes of points to leave out pairs. `trial`: a trial of some rows decides.
enum class Boxes { none, trial, always };

// The modes of a pass on a GPU: compiled, with tensor cores and screens (best) or without (plain), or interpreted.
enum class PassMode { best, plain, interpreted };

// The iteration of an engine over the pairs. 0: the engine's default at these sizes.
struct Loops {
  std::int64_t rows = 0, columns = 0;  // the size of a tile; on a GPU the most rows and columns of a thread
  std::int64_t split = 0;              // number of columns that are folded separately
  PassMode mode = PassMode::best;
  Boxes boxes = Boxes::none;
};

// A way to run a plan. Two processes with equal decisions, models and data compute the same bits.
struct Decision {
  std::string backend;  // by name
  std::string model;    // the device model, e.g. the instruction set in use
  int variant = 0;
  Sizes sizes;
  Loops loops{};
  double strain = 0;                           // share of the bound of the variant's condition that the data use
  Growths growths{};                           // facts by which boxes are bounded
  std::vector<std::vector<double>> centres{};  // subtracted from each variable's data; empty: nothing
  // The number of steps of the whole call: 1, or 2 for sums and formulas of sums. `others` has the decisions of
  // the call's other plans: of each output's second step, or of partial spans.
  int steps = 1;
  std::vector<Decision> others{};
};
bool operator==(const Sizes& a, const Sizes& b);
bool operator==(const Loops& a, const Loops& b);
bool operator==(const Decision& a, const Decision& b);

// Converts a decision to bytes for another process of the same build, and back. Damaged bytes, or bytes of another
// version, fail with Fault::input.
std::vector<char> to_bytes(Decision decision);
Decision from_bytes(const std::vector<char>& bytes);
// Writes a decision as text: one line for it and one for each of `others`.
std::string show(const Decision& decision);

// A decision with its price and its reason.
struct Schedule {
  Decision decision;
  std::string reason;  // why this back end and this variant, for explain()
  std::string missed;  // why a faster back end cannot be used; empty if the fastest is used
  double seconds = 0;  // expected
};

// Returns the number of rows of an output, whose results are rows x places x components; index 0 means "none".
std::int64_t kept_rows(Keep keep, const Sizes& sizes);

// --- costs ---------------------------------------------------------------------------------------------------------
// Estimates of a call's work and of the time of its copies.

// The most bytes of values of columns alone that are computed once a call: half of the memory of a call besides inputs
// and outputs. If there are more bytes, the values are computed once for each block of rows.
inline constexpr long long kSharedBytes = 32 << 20;

// Estimates the instructions of a pair; a reduction takes two a component.
double work_per_pair(const Variant& variant);

// Estimates the seconds of copies of a call's data and results to the GPU and back.
double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes);

}  // namespace kernweave
