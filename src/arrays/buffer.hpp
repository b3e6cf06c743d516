// Uninitialised memory: pages are taken when they are written to, and are large if the system has large pages, since a
// pass over fresh memory spends half of its time on small ones.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "arrays/pieces.hpp"

namespace kernweave::arrays {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Asks for large pages in fresh memory that will be written to.
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

inline void* fresh_memory(std::size_t bytes) {
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  want_large_pages(memory, bytes);
  return memory;
}

template <class Item>
class Buffer {
 public:
  explicit Buffer(Index count)
      : items_(static_cast<Item*>(fresh_memory(static_cast<std::size_t>(count) * sizeof(Item)))) {}
  ~Buffer() { std::free(items_); }
  Buffer(Buffer&& other) noexcept : items_(other.items_) { other.items_ = nullptr; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Item* get() const { return items_; }
  Item& operator[](Index k) const { return items_[k]; }

 private:
  Item* items_;
};

// An allocator for vectors of fresh memory: an item is set only if it is given, so all items must be written to.
template <class Item>
struct FreshMemory {
  using value_type = Item;
  FreshMemory() = default;
  template <class Other>
  FreshMemory(const FreshMemory<Other>&) {}

  Item* allocate(std::size_t count) { return static_cast<Item*>(fresh_memory(count * sizeof(Item))); }
  void deallocate(Item* items, std::size_t) { std::free(items); }
  template <class Other>
  void construct(Other* item) { ::new (static_cast<void*>(item)) Other; }
  template <class Other, class First, class... Rest>
  void construct(Other* item, First&& first, Rest&&... rest) {
    ::new (static_cast<void*>(item)) Other(std::forward<First>(first), std::forward<Rest>(rest)...);
  }
  bool operator==(const FreshMemory&) const { return true; }
  bool operator!=(const FreshMemory&) const { return false; }
};
template <class Item>
using Fresh = std::vector<Item, FreshMemory<Item>>;

}  // namespace kernweave::arrays
