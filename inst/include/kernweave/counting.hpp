// A lane that counts what a row's value costs: about how many instructions a vector of lanes takes. Knows no operation.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

struct Counting {
  struct Mask {
    int cost;
    friend constexpr Mask operator&&(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    friend constexpr Mask operator||(Mask a, Mask b) { return {a.cost + b.cost + 1}; }
    friend constexpr Mask operator!(Mask a) { return {a.cost + 1}; }
  };
  int cost;

  constexpr Counting(double) : cost(0) {}
  static constexpr Counting of(int cost) {
    Counting c(0.0);
    c.cost = cost;
    return c;
  }
  static constexpr Counting sum(Counting a, Counting b, int more) { return of(a.cost + b.cost + more); }

  friend constexpr Counting operator+(Counting a, Counting b) { return sum(a, b, 1); }
  friend constexpr Counting operator-(Counting a, Counting b) { return sum(a, b, 1); }
  friend constexpr Counting operator*(Counting a, Counting b) { return sum(a, b, 1); }
  friend constexpr Counting operator/(Counting a, Counting b) { return sum(a, b, 4); }
  friend constexpr Counting operator-(Counting a) { return of(a.cost + 1); }
  friend constexpr Mask operator<(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  friend constexpr Mask operator<=(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  friend constexpr Mask operator==(Counting a, Counting b) { return {sum(a, b, 1).cost}; }
  friend constexpr Mask differs(Counting a, Counting b) { return {sum(a, b, 3).cost}; }
  friend constexpr Mask truth(Counting a) { return {a.cost + 1}; }
  friend constexpr Mask is_nan(Counting a) { return {a.cost + 1}; }
  friend constexpr Counting select(Mask test, Counting yes, Counting no) { return sum(yes, no, test.cost + 1); }
  friend constexpr Counting square(Counting a) { return of(a.cost + 1); }
  friend constexpr Counting abs(Counting a) { return of(a.cost + 1); }
  friend constexpr Counting sqrt(Counting a) { return of(a.cost + 6); }
  friend constexpr Counting inverse_sqrt(Counting a) { return of(a.cost + 9); }
  friend constexpr Counting rsqrt(Counting a) { return of(a.cost + 11); }
  friend constexpr Counting exp2(Counting a) { return of(a.cost + 16); }
  friend constexpr Counting exp2_minus(Counting a) { return of(a.cost + 15); }
  friend constexpr Counting exp(Counting a) { return of(a.cost + 20); }
  friend constexpr Counting log(Counting a) { return of(a.cost + 35); }
  friend constexpr Counting sin(Counting a) { return of(a.cost + 60); }
  friend constexpr Counting cos(Counting a) { return of(a.cost + 60); }
  friend constexpr Counting tanh(Counting a) { return of(a.cost + 60); }
  friend constexpr Counting pow(Counting a, Counting) { return of(a.cost + 150); }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
