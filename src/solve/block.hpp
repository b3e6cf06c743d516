// Columns of float64 numbers: right-hand sides, directions, probes. The one place that includes Eigen; who uses the
// room's types goes through here.
#pragma once
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <cstdint>

namespace kernweave::solve {

using Index = Eigen::Index;
using Block = Eigen::MatrixXd;  // a column for each right-hand side
using Vector = Eigen::VectorXd;

}  // namespace kernweave::solve
