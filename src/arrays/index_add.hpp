// Slices of a source are put into an array where an index says, those with the same number one after the other:
//   for s: array[.., index[s], ..] = array[.., index[s], ..] (+) alpha * source[.., s, ..]
#pragma once
#include <cstdint>
#include <vector>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

enum class Combine { sum, prod, min, max };

// The array as three extents: of the dimension that is indexed, and of all before and all after it.
struct Shape {
  Index before = 1, extent = 0, after = 1;
  KW_FN Index slice() const { return before * after; }
};

// Numbers of the source from one to the next along each; 0 where one serves all.
struct Steps {
  Index before = 1, item = 1, after = 1;
};

struct IndexAdd {
  Shape shape;
  Steps steps;
  Combine op = Combine::sum;
  bool reproducible = true;  // the same bits for any number of threads
  Workers workers;
};

// A slice's numbers from 1; each is in the array. `Number` holds those of the array and of the source.
template <class Number>
struct Indices {
  const Number* numbers = nullptr;
  Index count = 0;
};

// The items in order, and the segments of items with the same number. Numbers without items are left out.
template <class Number>
struct Grouping {
  std::vector<Number> order;  // from 1
  std::vector<Index> offsets;
};

// Whether items are taken in the order of their numbers: where 32 bits do not count them, and where the numbers are
// whole and few. Their totals need more room than the array has, which is not made for all of it then.
bool serves_grouping(const IndexAdd& task, Index items, bool whole);

// The first item whose number the array does not have, from 1; 0 for none.
template <class Given>
Index first_outside(const Given* numbers, Index count, Index extent, const Workers& workers);

// The first segment, from 1, whose items have not all the same number, or none of its own; 0 for none.
template <class Number>
Index first_mixed(const Grouping<Number>& grouping, const Indices<Number>& index, Index extent);

// `grouping` may be null: it is made where it serves (serves_grouping()).
template <class Number>
void index_add(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, double alpha,
               const double* source, double* array);

// Totals of whole numbers are exact. Tells whether one is too large for an int: it is missing then, as what depends on
// a missing number is.
template <class Number>
bool index_add(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, int alpha,
               const int* source, int* array);

// Means of the slices with the same number, and with `include` of what the array has there.
template <class Number>
void index_mean(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, bool include,
                double alpha, const double* source, double* array);

}  // namespace kernweave::arrays
