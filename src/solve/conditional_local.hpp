// Local kriging: a Gaussian process at new places, each by the data nearest to it.
#pragma once
#include "solve/entries.hpp"
#include "solve/sparse_factor.hpp"

namespace kernweave::solve {

struct SeenData {
  RowIndices at;  // rows of the matrix
  Vector ridge;   // the noise of each
  Block numbers;  // a row each: `responses` columns, 0 or 1, then regressors
  Index responses;
};

struct NewPlaces {
  RowIndices at;     // rows of the matrix
  Slots near;        // a column for each: numbers of data, from 0
  Block regressors;  // a column for each
};

// A column for each place: the mean, 0 where there is no response, and the variance. With regressors both are those of
// universal kriging, and no numbers where a place's data do not tell the coefficients.
Block conditional_local(Entries* entries, const SeenData& data, const NewPlaces& places, const Poll& poll);

}  // namespace kernweave::solve
