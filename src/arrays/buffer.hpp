// Memory that nobody has set: pages are taken where they are written to, large ones where the system has them, since a
// pass over fresh memory takes half of its time for small ones.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "arrays/pieces.hpp"

namespace kernweave::arrays {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Asks for large pages where fresh memory will be written to.
inline void want_large_pages(void* memory, std::size_t bytes) {
#if defined(__linux__)
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
  if (bytes >= kLargePage && end > at) madvise(reinterpret_cast<void*>(at), end - at, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}

template <class Item>
class Buffer {
 public:
  explicit Buffer(Index count) : items_(static_cast<Item*>(taken(static_cast<std::size_t>(count) * sizeof(Item)))) {}
  ~Buffer() { std::free(items_); }
  Buffer(Buffer&& other) noexcept : items_(other.items_) { other.items_ = nullptr; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Item* get() const { return items_; }
  Item& operator[](Index k) const { return items_[k]; }

 private:
  static void* taken(std::size_t bytes) {
    void* const memory = std::malloc(bytes > 0 ? bytes : 1);
    if (!memory) throw std::bad_alloc();
    want_large_pages(memory, bytes);
    return memory;
  }

  Item* items_;
};

}  // namespace kernweave::arrays
