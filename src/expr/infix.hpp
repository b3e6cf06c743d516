// R's operators: how tightly each binds. Which operation an operator is, its row says.
#pragma once
#include <cstring>
#include <string>
#include "expr/table.hpp"

namespace kernweave {

// The precedence of R's operators, from the lowest.
enum Tightness { kLoose, kOr, kCompare, kSum, kProduct, kSign, kAtom };

inline Tightness tightness_of(const std::string& symbol) {
  struct OperatorTightness {
    const char* symbol;
    Tightness tightness;
  };
  constexpr OperatorTightness levels[] = {{"|", kOr},       {"<", kCompare},  {"<=", kCompare}, {">", kCompare},
                              {">=", kCompare}, {"==", kCompare}, {"!=", kCompare}, {"+", kSum},
                              {"-", kSum},      {"*", kProduct},  {"/", kProduct}};
  for (const OperatorTightness& level : levels)
    if (symbol == level.symbol) return level.tightness;
  return kAtom;
}

}  // namespace kernweave
