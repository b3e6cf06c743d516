// A component of some points into a panel, in which so many of each component lie together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kernweave {

// Copies kWide points at once. With a constant number and local memory, the copy is some instructions; a copy that may
// overlap is a function call.
template <class T, int kWide>
void copy_component(const T* from, std::int64_t count, std::int64_t apart, T* to) {
  for (std::int64_t p = 0; p < count; p += kWide, to += apart) {
    T some[kWide];
    std::memcpy(some, from + p, sizeof(some));
    std::memcpy(to, some, sizeof(some));
  }
}

// `wide` numbers, then the next ones `apart` from them.
template <class T>
void copy_component(const T* from, std::int64_t count, std::int64_t wide, std::int64_t apart, T* to) {
  switch (wide) {
    case 4: return copy_component<T, 4>(from, count, apart, to);
    case 8: return copy_component<T, 8>(from, count, apart, to);
    case 16: return copy_component<T, 16>(from, count, apart, to);
    case 32: return copy_component<T, 32>(from, count, apart, to);
    default:
      for (std::int64_t p = 0; p < count; p += wide, to += apart) std::copy_n(from + p, wide, to);
  }
}

}  // namespace kernweave
