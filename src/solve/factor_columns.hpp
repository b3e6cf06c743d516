// Who builds the columns of a sparse factor where long columns live: on the host, or on a device.
#pragma once
#include "solve/decompositions.hpp"
#include "solve/neighbour_pairs.hpp"

namespace kernweave::solve {

// What columns are made of: the matrix, with a ridge on its diagonal, less what landmarks explain of it.
struct LeftByLandmarks {
  Entries* entries;
  const Places& landmarks;
  const Cholesky& cholesky;  // of the matrix at the landmarks
  const NeighbourPairs& pairs;
  const Vector& ridge;  // of each point of the order
};

// The column for a point stands on its neighbours: it makes the diagonal of U'(what is left)U equal to 1 and the
// determinant the least. Built on `home`, or on the host where that is null or has no room.
void build_columns(const LeftByLandmarks& of, device::Device* home, const Poll& poll, SparseFactor* factor);

}  // namespace kernweave::solve
