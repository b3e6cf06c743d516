// Files of numbers: old ones as memory that is read where it is used, new ones that are there wholly or not at all.
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
  std::uint64_t number = 0;  // of the file on its disk
  std::int64_t seconds = 0, nanoseconds = 0;  // when it was last written
};
inline bool operator==(const FileStamp& a, const FileStamp& b) {
  return a.bytes == b.bytes && a.number == b.number && a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

// Reads the stamp of the file that has this name now; no, and why, where there is no file. Names are as the operating
// system takes them, on Windows UTF-8.
Verdict look_at_file(const std::string& path, FileStamp* stamp);

// Bytes of a file as memory. It takes address space and no memory of its own: the system fetches pages where they are
// read, and drops them where memory is short.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile() { close(); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Maps at least one byte, and at most the bytes of the file.
  Verdict open(const std::string& path, std::int64_t offset, std::int64_t bytes);
  void close();
  // Null before open().
  const void* data() const { return data_; }
  // Returns the same memory for a caller who may write there: changes stay in this process and never reach the file.
  // Null where the system has no such memory.
  void* writable();

 private:
  void* start_ = nullptr;  // of the pages, of which the bytes that were asked for may begin within the first
  std::size_t length_ = 0;
  void* data_ = nullptr;
};

// A file that gets its name when all of it is on the disk. What fails, fails as `disk`; what is not finished is
// removed.
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

  std::string part_, path_;  // what it is called until then, and then
  std::int64_t bytes_;
#ifdef _WIN32
  void* file_;
#else
  int file_;
#endif
  bool open_ = false;
};

}  // namespace kernweave
