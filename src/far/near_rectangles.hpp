// Near pairs: boxes of all levels, and the points that each is near to, as rectangles of rows and columns.
#pragma once
#include <vector>

#include "far/tree.hpp"

namespace kernweave {
namespace far {

// Rows from .. to - 1 with columns from .. to - 1, by places in the trees' orders.
struct NearRectangle {
  int row, row_end, column, column_end;
};

struct Columns {
  int begin, end;
};
using NearColumns = std::vector<std::vector<std::vector<Columns>>>;  // of each level, of each target box

// Rows in order, those of the same rows side by side, columns in order. Points in no box are near to all.
template <int D>
std::vector<NearRectangle> near_rectangles(const NearColumns& near, const Tree<D>& targets, const Tree<D>& sources);

}  // namespace far
}  // namespace kernweave
