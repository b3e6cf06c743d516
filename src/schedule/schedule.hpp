// How a plan is run on this machine at these sizes. Knows no data and no R.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "plan/growth.hpp"
#include "plan/plan.hpp"

namespace kernweave {

class Backend;

struct Sizes {
  std::int64_t i = 1;
  std::int64_t j = 1;
  std::vector<std::int64_t> batch{};
  double share = 1;  // of all pairs, those that are looked at

  double pairs() const { return static_cast<double>(i) * static_cast<double>(j) * share; }
  double places() const { return static_cast<double>(i) * static_cast<double>(j); }
};

// Where the data of a call lie and its results shall stay.
enum class Home { host, device };

// Are pairs left out by bounds on boxes of points? `trial`: some rows tell whether that pays.
enum class Boxes { none, trial, always };

// How a back end goes through the pairs, as data. 0: as it thinks best at these sizes.
struct Traversal {
  std::int64_t rows = 0, columns = 0;  // of a tile
  std::int64_t chunk = 0;              // columns of a task, where several tasks have the same rows
  int code = 0;                        // which of several codes for the same pairs
  Boxes boxes = Boxes::none;

  bool operator==(const Traversal& o) const {
    return rows == o.rows && columns == o.columns && chunk == o.chunk && code == o.code &&
           boxes == o.boxes;
  }
};

// A value: one of the candidates that back ends offer, carried out as told.
struct Schedule {
  const Backend* backend = nullptr;
  int variant = 0;
  Sizes sizes;
  Traversal traversal{};
  Growths growths{};   // what boxes stand on
  std::string reason;  // why this back end and this variant, for explain()
  std::string missed;  // why a cheaper back end is not there, if one is not
  double strain = 0;   // how much of what the variant's condition allows the data take up
  double seconds = 0;  // expected
};

// Results of an output: rows x places x components, an index of 0 standing for "none".
std::int64_t kept_rows(Keep keep, const Sizes& sizes);

}  // namespace kernweave
