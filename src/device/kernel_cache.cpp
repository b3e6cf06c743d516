// Compiled kernels on disk, and images compiled at installation. Each file of the cache holds the source, its image and
// a checksum of both. If there are too many files, the oldest are removed.
#include "device/nvrtc.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/system.hpp"

extern "C" {
extern const unsigned char kernweave_ahead_probe[];
}

namespace kernweave {
namespace device {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "kernweave kernels 1\n";
const char* const kSuffix = ".kernels";

struct Cache {
  fs::path folder;
  double most_bytes = 0;
};
Cache& cache() {
  static Cache here;
  return here;
}
std::atomic<bool> folder_is_new{false};

std::string name_of(const std::string& text) {
  std::ostringstream name;
  name << std::hex << hash_of(text, 14695981039346656037u) << '-' << hash_of(text, 1181783497276652981u) << kSuffix;
  return name.str();
}

void add(std::uint64_t number, std::string* to) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to->append(bytes, sizeof bytes);
}

std::string packed(const std::string& text, const std::string& image) {
  std::string file = kMagic;
  for (std::uint64_t number : {static_cast<std::uint64_t>(text.size()), static_cast<std::uint64_t>(image.size()),
                               hash_of(image, hash_of(text, 0))})
    add(number, &file);
  return file + text + image;
}

// Returns the image in a file if the file is whole and belongs to this text.
std::string unpacked(const std::string& file, const std::string& text) {
  const std::size_t magic = sizeof kMagic - 1;
  std::uint64_t numbers[3];
  if (file.size() < magic + sizeof numbers || file.compare(0, magic, kMagic) != 0) return "";
  std::memcpy(numbers, file.data() + magic, sizeof numbers);
  const std::size_t start = magic + sizeof numbers + text.size();
  if (numbers[0] != text.size() || file.size() < start || numbers[1] != file.size() - start) return "";
  if (file.compare(start - text.size(), text.size(), text) != 0) return "";
  std::string image = file.substr(start);
  return hash_of(image, hash_of(text, 0)) == numbers[2] ? image : "";
}

struct Stored {
  fs::path path;
  fs::file_time_type used;
  double bytes;
};

std::vector<Stored> all_stored() {
  std::vector<Stored> found;
  std::error_code failed;
  for (fs::directory_iterator at(cache().folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code no_size, no_time;  // other processes may remove the file meanwhile
    const double bytes = static_cast<double>(at->file_size(no_size));
    const fs::file_time_type used = at->last_write_time(no_time);
    const bool ours =
        at->path().filename().string().find(kSuffix) != std::string::npos;  // also unfinished files
    if (!no_size && !no_time && ours) found.push_back({at->path(), used, bytes});
  }
  return found;
}

void make_room() {
  std::vector<Stored> files = all_stored();
  double bytes = 0;
  for (const Stored& f : files) bytes += f.bytes;
  if (bytes <= cache().most_bytes) return;
  std::sort(files.begin(), files.end(), [](const Stored& a, const Stored& b) { return a.used < b.used; });
  constexpr double kLeft = 0.75;  // the share of the limit that is kept, so that not every store has to make room
  for (const Stored& f : files) {
    if (bytes <= kLeft * cache().most_bytes) return;
    std::error_code gone;
    fs::remove(f.path, gone);
    bytes -= f.bytes;
  }
}

bool write_whole(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  return !out.fail();
}

}  // namespace

std::uint64_t hash_of(const std::string& text, std::uint64_t h) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

void set_cache(const std::string& folder, double most_bytes) { cache() = {folder, most_bytes}; }

bool has_cache() { return !cache().folder.empty(); }

std::string recall(const std::string& text) {
  const fs::path path = cache().folder / name_of(text);
  std::ifstream in(path, std::ios::binary);
  if (!in) return "";
  std::ostringstream content;
  content << in.rdbuf();
  const std::string image = unpacked(content.str(), text);
  std::error_code ignored;
  if (image.empty()) fs::remove(path, ignored);
  else fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return image;
}

void store(const std::string& text, const std::string& image) {
  static std::atomic<int> number{0};
  std::error_code failed;
  if (fs::create_directories(cache().folder, failed)) folder_is_new = true;
  const fs::path path = cache().folder / name_of(text);
  std::ostringstream beside;
  beside << path.filename().string() << "." << this_process() << "-" << ++number;
  const fs::path unfinished = cache().folder / beside.str();
  if (write_whole(unfinished, packed(text, image))) fs::rename(unfinished, path, failed);
  else failed = std::make_error_code(std::errc::io_error);
  std::error_code ignored;
  if (failed) fs::remove(unfinished, ignored);
  else make_room();
}

std::string news_of_cache() {
  if (!folder_is_new.exchange(false)) return "";
  return "kernweave keeps compiled GPU kernels in " + cache().folder.string() +
         " for other sessions; options(kernweave.cache = FALSE) before the first call keeps none";
}

CacheReport cache_report() {
  CacheReport report;
  if (!has_cache()) return report;
  report.folder = cache().folder.string();
  for (const Stored& f : all_stored()) {
    ++report.files;
    report.bytes += f.bytes;
  }
  std::error_code failed;
  if (!fs::exists(cache().folder, failed)) {  // a report makes no folder
    fs::path above = cache().folder;
    while (above.has_relative_path() && !fs::exists(above, failed)) above = above.parent_path();
    report.writable = fs::is_directory(above, failed);
    return report;
  }
  std::ostringstream name;
  name << "probe." << this_process();
  const fs::path probe = cache().folder / name.str();
  report.writable = write_whole(probe, "");
  fs::remove(probe, failed);
  return report;
}

// --- images of the installation ------------------------------------------------------------------------------------
// A fatbin is recognised by its first bytes.

const unsigned char* image_in(const unsigned char* bytes) {
  constexpr unsigned char kFatbin[] = {0x50, 0xed, 0x55, 0xba};
  return std::memcmp(bytes, kFatbin, sizeof kFatbin) == 0 ? bytes : nullptr;
}

const unsigned char* probe_image() { return image_in(kernweave_ahead_probe); }

}  // namespace device
}  // namespace kernweave
