// The rows of ops.def on discs. What is no element-wise operation has no value there.
#include "distance/disc.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {
namespace distance {

BoundedFn bounded(Op op) {
  switch (op) {
#define UNARY(Name, ...) \
  case Op::Name: return [](const Disc* in) { return op::Name::eval(in[0]); };
#define BINARY(Name, ...) \
  case Op::Name: return [](const Disc* in) { return op::Name::eval(in[0], in[1]); };
#define TERNARY(Name, ...) \
  case Op::Name: return [](const Disc* in) { return op::Name::eval(in[0], in[1], in[2]); };
#include "kernweave/ops.def"
    default: return [](const Disc*) { return Disc::nowhere(); };
  }
}

}  // namespace distance
}  // namespace kernweave
