// Runs every row of both tables on a GPU and compares with the host. Needs a GPU: not part of the tests;
//   nvcc -std=c++17 -arch=native -I inst/include tests/testthat/cuda/on_device.cu -o on_device && ./on_device
#include <cstdio>

#include "every_row.cu"

namespace {

constexpr int kOut = 256;
using kernweave::Index;

__host__ __device__ void compute(const Number* in, Number* operations, Number* values, Index* indices, void* storage) {
  kernweave::every_operation(in, operations);
  kernweave::every_reduction(in, values, indices, storage);
}

__global__ void on_device(const Number* in, Number* operations, Number* values, Index* indices, void* storage) {
  compute(in, operations, values, indices, storage);
}

bool close(double a, double b) {
  const double tolerance = sizeof(Number) == 4 ? 1e-6 : 1e-15;
  if (a != a || b != b) return (a != a) == (b != b);
  return a == b || (a - b <= tolerance * (1 + (b < 0 ? -b : b)) && b - a <= tolerance * (1 + (b < 0 ? -b : b)));
}

}  // namespace

int main() {
  Number *in, *operations, *values;
  Index* indices;
  void* storage;
  cudaMallocManaged(&in, 8 * sizeof(Number));
  cudaMallocManaged(&operations, 2 * kOut * sizeof(Number));
  cudaMallocManaged(&values, 2 * kOut * sizeof(Number));
  cudaMallocManaged(&indices, 2 * kOut * sizeof(Index));
  cudaMallocManaged(&storage, 4096);
  const double inputs[][4] = {{0.5, 0.25, 1.5, 2.0}, {0.0, 0.0, 3.0, -1.0}, {-2.0, 0.75, -2.0, 1.0}};
  int wrong = 0;
  for (const auto& row : inputs) {
    for (int k = 0; k < 8; ++k) in[k] = Number(row[k % 4]);
    for (int k = 0; k < 2 * kOut; ++k) operations[k] = values[k] = Number(-777.0), indices[k] = -777;
    on_device<<<1, 1>>>(in, operations, values, indices, storage);
    if (cudaDeviceSynchronize() != cudaSuccess) return std::printf("%s\n", cudaGetErrorString(cudaGetLastError())), 1;
    compute(in, operations + kOut, values + kOut, indices + kOut, storage);
    for (int k = 0; k < kOut; ++k) {
      const bool same = close(operations[k].v, operations[k + kOut].v) && close(values[k].v, values[k + kOut].v) &&
                        indices[k] == indices[k + kOut];
      if (!same)
        std::printf("place %d: %g %g, %g %g, %lld %lld\n", k, double(operations[k].v), double(operations[k + kOut].v),
                    double(values[k].v), double(values[k + kOut].v), indices[k], indices[k + kOut]);
      wrong += !same;
    }
  }
  std::printf("%d of %d places differ\n", wrong, 3 * kOut);
  return wrong != 0;
}
