// Near pairs as rectangles of rows and columns, from the points that the boxes of each level are near to.
#pragma once
#include <vector>

#include "far/box_lists.hpp"
#include "far/tree.hpp"

namespace kernweave {
namespace far {

// All pairs of some rows and some columns, by places in the trees' orders; ends are behind the last one.
struct NearRectangle {
  int row, row_end, column, column_end;
};

struct Columns {
  int begin, end;
};
using NearColumns = std::vector<BoxLists<Columns>>;  // of each level

// Rectangles in the order of rows; of the same rows, in the order of columns. Points in no box are near to all.
template <int D>
std::vector<NearRectangle> near_rectangles(const NearColumns& near, const Tree<D>& targets, const Tree<D>& sources);

}  // namespace far
}  // namespace kernweave
