// A lane that counts what a row's value costs: about how many instructions a vector of lanes takes. Knows no operation.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

struct Counting {
  struct Mask {
    int cost;
    KW_FN friend constexpr Mask operator&&(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    KW_FN friend constexpr Mask operator||(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    KW_FN friend constexpr Mask operator!(Mask a) { return {a.cost + 1}; }
  };
  using Number = double;
  int cost;

  KW_FN constexpr Counting(double) : cost(0) {}
  KW_FN static constexpr Counting of(int cost) {
    Counting c(0.0);
    c.cost = cost;
    return c;
  }
  KW_FN static constexpr Counting sum(Counting a, Counting b, int more) { return of(a.cost + b.cost + more); }

  KW_FN friend constexpr Counting operator+(Counting a, Counting b) { return sum(a, b, 1); }
  KW_FN friend constexpr Counting operator-(Counting a, Counting b) { return sum(a, b, 1); }
  KW_FN friend constexpr Counting operator*(Counting a, Counting b) { return sum(a, b, 1); }
  KW_FN friend constexpr Counting operator/(Counting a, Counting b) { return sum(a, b, 4); }
  KW_FN friend constexpr Counting operator-(Counting a) { return of(a.cost + 1); }
  KW_FN friend constexpr Mask operator<(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask operator<=(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask operator==(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  KW_FN friend constexpr Mask differs(Counting a, Counting b) { return {sum(a, b, 3).cost}; }
  KW_FN friend constexpr Mask truth(Counting a) { return {a.cost + 1}; }
  KW_FN friend constexpr Mask is_nan(Counting a) { return {a.cost + 1}; }
  KW_FN friend constexpr Counting select(Mask test, Counting yes, Counting no) { return sum(yes, no, test.cost + 1); }
  KW_FN friend constexpr Counting square(Counting a) { return of(a.cost + 1); }
  KW_FN friend constexpr Counting abs(Counting a) { return of(a.cost + 1); }
  KW_FN friend constexpr Counting sqrt(Counting a) { return of(a.cost + 6); }
  KW_FN friend constexpr Counting inverse_sqrt(Counting a) { return of(a.cost + 9); }
  KW_FN friend constexpr Counting rsqrt(Counting a) { return of(a.cost + 11); }
  KW_FN friend constexpr Counting exp2(Counting a) { return of(a.cost + 16); }
  KW_FN friend constexpr Counting exp2_minus(Counting a) { return of(a.cost + 15); }
  KW_FN friend constexpr Counting exp(Counting a) { return of(a.cost + 20); }
  KW_FN friend constexpr Counting log(Counting a) { return of(a.cost + 35); }
  KW_FN friend constexpr Counting sin(Counting a) { return of(a.cost + 60); }
  KW_FN friend constexpr Counting cos(Counting a) { return of(a.cost + 60); }
  KW_FN friend constexpr Counting tanh(Counting a) { return of(a.cost + 60); }
  KW_FN friend constexpr Counting pow(Counting a, Counting) { return of(a.cost + 150); }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
