// The two examples of vignettes/articles/extending.Rmd on one lane: what the operation gives of each argument, and what
// the reduction gives of all of them, taken in by two states of which one merges the other.
#include <cstdio>
#include <cstdlib>

#include "kernweave/ops.hpp"
#include "kernweave/reductions.hpp"

using L = kernweave::Scalar<double>;

int main(int argc, char** argv) {
  kernweave::red::Energy<L> early, late;
  early.init(nullptr, 1);
  late.init(nullptr, 1);
  for (int k = 1; k < argc; ++k) {
    const double x = std::atof(argv[k]);
    std::printf("%.17g\n", kernweave::op::Lorentz::eval(L(x)).v);
    (2 * k < argc ? early : late).step(L(x), L(1.0), k, true);
    early.step(L(1e6), L(1.0), k, false);
  }
  early.merge(late, 0);
  L value(0.0);
  early.finish(&value, nullptr);
  std::printf("%.17g\n", value.v);
}
