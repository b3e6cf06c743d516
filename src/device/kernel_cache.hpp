// Compiled kernels on disk, where the user has asked for that: any process may find what another has compiled.
#pragma once
#include <cstdint>
#include <string>

namespace kernweave {
namespace device {

// Where they lie, and how many bytes they may take. An empty folder: nowhere.
void set_cache(const std::string& folder, double most_bytes);
bool has_cache();

// Where there is a cache. What was stored for this text; empty if nothing was, or if it has come to harm.
std::string recall(const std::string& text);
// Written beside its place and moved there, so that nobody ever reads half of it. Where that fails, nothing is stored.
void store(const std::string& text, const std::string& image);

// FNV-1a, going on from h.
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
