// Compiled kernels on disk, unless the user wants none: any process may find what another has compiled. Threads that
// compile side by side store side by side.
#pragma once
#include <cstdint>
#include <string>

namespace kernweave {
namespace device {

// Sets the folder, where "" means no cache, and the bytes that it may take.
void set_cache(const std::string& folder, double most_bytes);
bool has_cache();

// The image stored for this text; "" if there is none, or the file is damaged.
std::string recall(const std::string& text);
// Stores an image. It is written beside its place and moved there, so that nobody ever reads half of it; where that
// fails, nothing is stored.
void store(const std::string& text, const std::string& image);

// A sentence for the user after the folder was made; "" all other times.
std::string news_of_cache();

// Hash (FNV-1a) of a text, continued from h.
std::uint64_t hash_of(const std::string& text, std::uint64_t h);

struct CacheReport {
  std::string folder;  // empty: there is none
  int files = 0;
  double bytes = 0;
  bool writable = false;
};
CacheReport cache_report();

}  // namespace device
}  // namespace kernweave
