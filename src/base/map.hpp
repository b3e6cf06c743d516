// Files of numbers: existing files as memory that is read on demand, new files that appear wholly or not at all.
// Each operating system has its own source: base/map_posix.cpp, base/map_windows.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace kernweave {

// The stamp of a file: as long as the file does not change, its stamp is the same.
struct FileStamp {
  std::int64_t bytes = 0;
  std::uint64_t number = 0;  // the number of the file on its disk
  std::int64_t seconds = 0, nanoseconds = 0;  // the time of the last write
};
inline bool operator==(const FileStamp& a, const FileStamp& b) {
  return a.bytes == b.bytes && a.number == b.number && a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

// Reads the stamp of the file that has this name now; if there is no file, says no with the reason. Names are in the
// form that the operating system takes: UTF-8 on Windows.
Verdict look_at_file(const std::string& path, FileStamp* stamp);

// The bytes of a file as memory. A mapped file takes address space and no memory of its own: the system fetches pages
// when they are read, and drops them when memory is short.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile() { close(); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Maps at least one byte, and at most the bytes of the file.
  Verdict open(const std::string& path, std::int64_t offset, std::int64_t bytes);
  void close();
  // Returns null before open().
  const void* data() const { return data_; }
  // Returns the same memory for a caller who may write to it: changes stay in this process and never reach the file.
  // Returns null if the system has no such memory.
  void* writable();

 private:
  void* start_ = nullptr;  // the first page; the bytes that were asked for may begin within it
  std::size_t length_ = 0;
  void* data_ = nullptr;
};

// A file that gets its name when all of it is on the disk. Failures are of Fault::disk. An unfinished file is removed.
class NewFile {
 public:
  NewFile(std::string part, std::string path, std::int64_t bytes);
  ~NewFile() { forget(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* from, std::int64_t bytes, std::int64_t at);
  void finish();

 private:
  [[noreturn]] void fail_to(const char* what, const std::string& why) const {
    fail(Fault::disk, "`", path_, "` cannot be ", what, ": ", why);
  }
  void forget();

  std::string part_, path_;  // the name until the file is finished, and the final name
  std::int64_t bytes_;
#ifdef _WIN32
  void* file_;
#else
  int file_;
#endif
  bool open_ = false;
};

}  // namespace kernweave
