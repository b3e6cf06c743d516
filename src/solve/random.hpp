// Random numbers that are a function of a seed and a place: the same on every machine and for any number of threads.
#pragma once
#include <cstdint>

namespace kernweave::solve {

// The finaliser of splitmix64: every bit of the result depends on every bit of what is given.
inline std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  return scrambled(scrambled(seed) ^ scrambled(place + 1));
}

// In [0, 1), by the 53 upper bits.
inline double random_uniform(std::uint64_t seed, std::uint64_t place) {
  return static_cast<double>(random_bits(seed, place) >> 11) * 0x1p-53;
}

// Signs have seeds of their own, so that a probe is independent of an order of points that has its seed.
constexpr std::uint64_t kSigns = std::uint64_t{1} << 40;

inline double random_sign(std::uint64_t seed, std::uint64_t place) {
  return random_bits(seed + kSigns, place) >> 63 ? 1.0 : -1.0;
}

}  // namespace kernweave::solve
