// A small kernel compiled at installation, by which a device shows that it computes (driver.cpp).

extern "C" __global__ void probe(double* out) { out[threadIdx.x] = 3.0 * threadIdx.x + 1.0; }
