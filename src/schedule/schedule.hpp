// The run of a plan on this machine at these sizes: the decision, and the costs weighed before it. Knows no data and
// no R.
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
  double share = 1;                   // of all pairs, those that are looked at
  int folded = 0;                     // of the outer axes, as many at the end are folded, too

  std::int64_t runs() const { return product(outer.begin(), outer.end()); }
  // Returns the number of runs with results of their own; folded_runs(): of the runs folded into each of these.
  std::int64_t kept_runs() const { return product(outer.begin(), outer.end() - folded); }
  std::int64_t folded_runs() const { return product(outer.end() - folded, outer.end()); }
  // Returns the number of pairs of one run that are looked at; places() returns the number of all pairs.
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

// Whether bounds on boxes of points leave pairs out. `trial`: a trial of some rows decides.
enum class Boxes { none, trial, always };

// The ways of a pass on a GPU: written out with tensor cores and screens, written out without, or interpreted.
enum class PassMode { best, plain, interpreted };

// The way of an engine through the pairs. 0: as it thinks best at these sizes.
struct Loops {
  std::int64_t rows = 0, columns = 0;  // of a tile; on a GPU of a thread, at most
  std::int64_t split = 0;              // columns that are folded by themselves
  PassMode mode = PassMode::best;
  Boxes boxes = Boxes::none;
};

// A plain value: who is told it computes the same bits, on the same model with the same data.
struct Decision {
  std::string backend;  // by name
  std::string model;    // of the device: the instruction set in use, say
  int variant = 0;
  Sizes sizes;
  Loops loops{};
  double strain = 0;                           // how much of what the variant's condition allows the data take up
  Growths growths{};                           // what boxes stand on
  std::vector<std::vector<double>> centres{};  // taken off each variable's data; empty: nothing
  // The number of steps of the whole call: one step, or sums and what comes after them. `others` has the decisions of
  // the call's other plans: of each output's second step, or of partial spans.
  int steps = 1;
  std::vector<Decision> others{};
};
bool operator==(const Sizes& a, const Sizes& b);
bool operator==(const Loops& a, const Loops& b);
bool operator==(const Decision& a, const Decision& b);

// For another process of the same build. Bytes that are damaged, or another version's, fail with Fault::input.
std::vector<char> to_bytes(Decision decision);
Decision from_bytes(const std::vector<char>& bytes);
// All of it as text: a line, and one for each of the others.
std::string show(const Decision& decision);

// A decision with its price and its reason.
struct Schedule {
  Decision decision;
  std::string reason;  // why this back end and this variant, for explain()
  std::string missed;  // why a cheaper back end is not there, if one is not
  double seconds = 0;  // expected
};

// Results of an output: rows x places x components, an index of 0 standing for "none".
std::int64_t kept_rows(Keep keep, const Sizes& sizes);

// --- costs ---------------------------------------------------------------------------------------------------------
// The work of a pair, and the bytes that a call sends to a device and back.

// The most bytes of values of columns alone that are computed once a call, half of what a call may take above inputs
// and outputs. If there are more bytes, the values are computed once for each block of rows.
inline constexpr long long kSharedBytes = 32 << 20;

// Instructions of a pair, about; a reduction's term takes one or two.
double work_per_pair(const Variant& variant);

// Bytes of a call's data and results, on their way to the GPU and back.
double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes);

}  // namespace kernweave
