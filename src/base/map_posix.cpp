// Mapped and new files on systems with open(), mmap() and rename().
#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/map.hpp"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0  // some systems never set memory aside
#endif

namespace kernweave {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

FileStamp stamp_of(const struct stat& found) {
#ifdef __APPLE__
  const timespec& written = found.st_mtimespec;
#else
  const timespec& written = found.st_mtim;
#endif
  return {static_cast<std::int64_t>(found.st_size), static_cast<std::uint64_t>(found.st_ino),
          static_cast<std::int64_t>(written.tv_sec), static_cast<std::int64_t>(written.tv_nsec)};
}

}  // namespace

Verdict look_at_file(const std::string& path, FileStamp* stamp) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return Verdict::no(last_error());
  if (S_ISDIR(found.st_mode)) return Verdict::no("it is a folder");
  if (!S_ISREG(found.st_mode)) return Verdict::no("it is not a file of a disk");
  *stamp = stamp_of(found);
  return {};
}

// The descriptor is closed at once: a process has few descriptors, and the pages keep the file open.
Verdict MappedFile::open(const std::string& path, std::int64_t offset, std::int64_t bytes) {
  close();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Verdict::no(last_error());
  const std::int64_t before = offset % static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t length = static_cast<std::size_t>(before + bytes);
  void* const start =
      ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, file, static_cast<off_t>(offset - before));
  const std::string why = start == MAP_FAILED ? last_error() : "";
  ::close(file);
  if (start == MAP_FAILED) return Verdict::no(why);
  start_ = start;
  length_ = length;
  data_ = static_cast<char*>(start) + before;
  return {};
}

void MappedFile::close() {
  if (start_) ::munmap(start_, length_);
  start_ = data_ = nullptr;
}

void* MappedFile::writable() {
  return start_ && ::mprotect(start_, length_, PROT_READ | PROT_WRITE) == 0 ? data_ : nullptr;
}

NewFile::NewFile(std::string part, std::string path, std::int64_t bytes)
    : part_(std::move(part)), path_(std::move(path)), bytes_(bytes) {
  struct stat found;
  if (::stat(path_.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) fail_to("replaced", "it is no file of a disk");
  file_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) fail_to("written", last_error());
  open_ = true;
  if (::ftruncate(file_, static_cast<off_t>(bytes)) == 0) return;
  const std::string why = last_error();
  forget();
  fail_to("written", why);
}

void NewFile::forget() {
  if (!open_) return;
  ::close(file_);
  ::unlink(part_.c_str());
  open_ = false;
}

void NewFile::write(const void* from, std::int64_t bytes, std::int64_t at) {
  const char* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(file_, next, static_cast<std::size_t>(bytes), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_to("written", done < 0 ? last_error() : "the disk takes no more");
    next += done;
    at += done;
    bytes -= done;
  }
}

void NewFile::finish() {
  struct stat found;
  if (::fsync(file_) != 0 || ::fstat(file_, &found) != 0) fail_to("written", last_error());
  if (found.st_size != static_cast<off_t>(bytes_)) fail_to("written", "it has another size than was written");
  const int closed = ::close(file_);
  open_ = false;
  if (closed == 0 && ::rename(part_.c_str(), path_.c_str()) == 0) return;
  const std::string why = last_error();
  ::unlink(part_.c_str());
  fail_to(closed == 0 ? "put in its place" : "written", why);
}

}  // namespace kernweave
#endif
