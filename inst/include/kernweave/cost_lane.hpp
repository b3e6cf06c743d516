// A lane that counts the cost of a row's value: about the number of instructions of a vector. Knows no operation.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

struct CostLane {
  struct Mask {
    int cost;
    KW_FN friend constexpr Mask operator&&(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    KW_FN friend constexpr Mask operator||(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    KW_FN friend constexpr Mask operator!(Mask a) { return {a.cost + 1}; }
  };
  using Number = double;
  int cost;

  KW_FN constexpr CostLane(double) : cost(0) {}
  KW_FN static constexpr CostLane of(int cost) {
    CostLane c(0.0);
    c.cost = cost;
    return c;
  }
  KW_FN static constexpr CostLane sum(CostLane a, CostLane b, int more) { return of(a.cost + b.cost + more); }

  KW_FN friend constexpr CostLane operator+(CostLane a, CostLane b) { return sum(a, b, 1); }
  KW_FN friend constexpr CostLane operator-(CostLane a, CostLane b) { return sum(a, b, 1); }
  KW_FN friend constexpr CostLane operator*(CostLane a, CostLane b) { return sum(a, b, 1); }
  KW_FN friend constexpr CostLane operator/(CostLane a, CostLane b) { return sum(a, b, 4); }
  KW_FN friend constexpr CostLane operator-(CostLane a) { return of(a.cost + 1); }
  KW_FN friend constexpr Mask operator<(CostLane a, CostLane b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask operator<=(CostLane a, CostLane b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask operator==(CostLane a, CostLane b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask differs(CostLane a, CostLane b) { return {sum(a, b, 3).cost}; }
  KW_FN friend constexpr Mask truth(CostLane a) { return {a.cost + 1}; }
  KW_FN friend constexpr Mask is_nan(CostLane a) { return {a.cost + 1}; }
  KW_FN friend constexpr CostLane select(Mask test, CostLane yes, CostLane no) { return sum(yes, no, test.cost + 1); }
  KW_FN friend constexpr CostLane square(CostLane a) { return of(a.cost + 1); }
  KW_FN friend constexpr CostLane abs(CostLane a) { return of(a.cost + 1); }
  KW_FN friend constexpr CostLane sqrt(CostLane a) { return of(a.cost + 6); }
  KW_FN friend constexpr CostLane inverse_sqrt(CostLane a) { return of(a.cost + 9); }
  KW_FN friend constexpr CostLane rsqrt(CostLane a) { return of(a.cost + 11); }
  KW_FN friend constexpr CostLane exp2(CostLane a) { return of(a.cost + 16); }
  KW_FN friend constexpr CostLane exp2_minus(CostLane a) { return of(a.cost + 15); }
  KW_FN friend constexpr CostLane exp(CostLane a) { return of(a.cost + 20); }
  KW_FN friend constexpr CostLane log(CostLane a) { return of(a.cost + 35); }
  KW_FN friend constexpr CostLane sin(CostLane a) { return of(a.cost + 60); }
  KW_FN friend constexpr CostLane cos(CostLane a) { return of(a.cost + 60); }
  KW_FN friend constexpr CostLane tanh(CostLane a) { return of(a.cost + 60); }
  KW_FN friend constexpr CostLane pow(CostLane a, CostLane) { return of(a.cost + 150); }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
