// ./fused CASE f32|f64 M N D E_or_K THREADS REPS, or ./fused list
#include <cstring>
#include "bench.hpp"

struct Case {
  const char* name;
  long M, N, D, E;
};
static const Case cases[] = {
    // default sizes; E is K for argkmin
    {"gauss", 20000, 20000, 3, 1},     {"gauss", 20000, 20000, 10, 1},    {"gauss", 20000, 20000, 50, 1},
    {"gauss", 20000, 20000, 100, 1},   {"gradx", 20000, 20000, 3, 1},     {"lse", 20000, 20000, 3, 1},
    {"laplace", 20000, 20000, 3, 1},   {"cauchy", 20000, 20000, 3, 1},    {"imq", 20000, 20000, 3, 1},
    {"matern32", 20000, 20000, 3, 1},  {"matern52", 20000, 20000, 3, 1},  {"argkmin", 20000, 20000, 3, 10},
    {"argkmin", 20000, 20000, 10, 10}, {"argkmin", 20000, 20000, 50, 10}, {"multi", 20000, 20000, 3, 10},
    {"multi", 20000, 20000, 3, 100},   {"thin", 100, 1000000, 3, 1},      {"thin", 1000000, 100, 3, 1},
    {"manhattan", 5000, 5000, 784, 1}, {"minkowski", 2000, 2000, 784, 1}, {"chain1", 20000, 20000, 5, 1},
    {"chain2", 20000, 20000, 5, 1},    {"chain3", 20000, 20000, 5, 1},    {"chain4", 20000, 20000, 5, 1},
    {"chain5", 20000, 20000, 5, 1},    {"chain6", 10000, 10000, 5, 1},
};

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "list")) {
    for (const Case& c : cases) printf("%s %ld %ld %ld %ld\n", c.name, c.M, c.N, c.D, c.E);
    return 0;
  }
  if (argc != 9 || (strcmp(argv[2], "f32") && strcmp(argv[2], "f64"))) {
    fprintf(stderr, "usage: %s CASE f32|f64 M N D E_or_K THREADS REPS\n       %s list\n", argv[0], argv[0]);
    return 2;
  }
  const Args a{argv[1],       !strcmp(argv[2], "f32"), atol(argv[3]), atol(argv[4]),
               atol(argv[5]), atol(argv[6]),           atoi(argv[7]), atoi(argv[8])};
  if (a.M < 1 || a.N < 1 || a.D < 1 || a.E < 1 || a.threads < 1 || a.reps < 1)
    return fprintf(stderr, "sizes must be positive\n"), 2;
  for (auto f : {pairs_case, chain_case, lse_case, tile_case, longd_case, multi_case, knn_case}) {
    const int status = f(a);
    if (status >= 0) return status;
  }
  fprintf(stderr, "no yardstick for %s with D = %ld\n", a.name.c_str(), a.D);
  return 2;
}
