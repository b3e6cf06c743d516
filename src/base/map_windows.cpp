// Mapped and new files by file mapping objects. Windows lets nobody truncate a mapped file.
#ifdef _WIN32
#include <windows.h>

#include <algorithm>
#include <system_error>

#include "base/map.hpp"

namespace kernweave {
namespace {

std::string last_error() {
  return std::system_category().message(static_cast<int>(GetLastError())) + " (error " +
         std::to_string(GetLastError()) + ")";
}

std::wstring wide(const std::string& text) {
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.c_str(), -1, nullptr, 0);
  std::wstring out(static_cast<std::size_t>(std::max(length, 1)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.c_str(), -1, &out[0], length);
  return out;
}

DWORD low(std::int64_t number) { return static_cast<DWORD>(number & 0xffffffff); }
DWORD high(std::int64_t number) { return static_cast<DWORD>(number >> 32); }
std::int64_t joined(DWORD high, DWORD low) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(high) << 32) | low);
}

// A handle of a file, closed at the end of a scope, after which nothing else of the file is needed.
struct FileHandle {
  explicit FileHandle(const std::string& path)
      : file(CreateFileW(wide(path).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                         nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)) {}
  ~FileHandle() {
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  HANDLE file;
};

}  // namespace

Verdict look_at_file(const std::string& path, FileStamp* stamp) {
  const DWORD kind = GetFileAttributesW(wide(path).c_str());
  if (kind == INVALID_FILE_ATTRIBUTES) return Verdict::no(last_error());
  if (kind & FILE_ATTRIBUTE_DIRECTORY) return Verdict::no("it is a folder");
  const FileHandle opened(path);
  BY_HANDLE_FILE_INFORMATION found;
  if (opened.file == INVALID_HANDLE_VALUE || !GetFileInformationByHandle(opened.file, &found))
    return Verdict::no(last_error());
  const std::int64_t written = joined(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime);
  *stamp = {joined(found.nFileSizeHigh, found.nFileSizeLow),
            static_cast<std::uint64_t>(joined(found.nFileIndexHigh, found.nFileIndexLow)), written / 10000000,
            written % 10000000 * 100};
  return {};
}

Verdict MappedFile::open(const std::string& path, std::int64_t offset, std::int64_t bytes) {
  close();
  const FileHandle opened(path);
  if (opened.file == INVALID_HANDLE_VALUE) return Verdict::no(last_error());
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  const std::int64_t before = offset % static_cast<std::int64_t>(system.dwAllocationGranularity);
  const HANDLE mapping = CreateFileMappingW(opened.file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (!mapping) return Verdict::no(last_error());
  void* const start = MapViewOfFile(mapping, FILE_MAP_READ, high(offset - before), low(offset - before),
                                    static_cast<SIZE_T>(before + bytes));
  const std::string why = start ? "" : last_error();
  CloseHandle(mapping);
  if (!start) return Verdict::no(why);
  start_ = start;
  length_ = static_cast<std::size_t>(before + bytes);
  data_ = static_cast<char*>(start) + before;
  return {};
}

void MappedFile::close() {
  if (start_) UnmapViewOfFile(start_);
  start_ = data_ = nullptr;
}

void* MappedFile::writable() { return nullptr; }

NewFile::NewFile(std::string part, std::string path, std::int64_t bytes)
    : part_(std::move(part)), path_(std::move(path)), bytes_(bytes) {
  file_ = CreateFileW(wide(part_).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file_ == INVALID_HANDLE_VALUE) fail_to("written", last_error());
  open_ = true;
  LARGE_INTEGER end;
  end.QuadPart = bytes;
  if (SetFilePointerEx(file_, end, nullptr, FILE_BEGIN) && SetEndOfFile(file_)) return;
  const std::string why = last_error();
  forget();
  fail_to("written", why);
}

void NewFile::forget() {
  if (!open_) return;
  CloseHandle(file_);
  DeleteFileW(wide(part_).c_str());
  open_ = false;
}

void NewFile::write(const void* from, std::int64_t bytes, std::int64_t at) {
  constexpr std::int64_t kAtOnce = std::int64_t{1} << 30;  // the call takes 32 bits
  const char* next = static_cast<const char*>(from);
  while (bytes > 0) {
    OVERLAPPED where = {};
    where.Offset = low(at);
    where.OffsetHigh = high(at);
    DWORD done = 0;
    if (!WriteFile(file_, next, low(std::min(bytes, kAtOnce)), &done, &where)) fail_to("written", last_error());
    if (done == 0) fail_to("written", "the disk takes no more");
    next += done;
    at += done;
    bytes -= done;
  }
}

void NewFile::finish() {
  LARGE_INTEGER size;
  if (!FlushFileBuffers(file_) || !GetFileSizeEx(file_, &size)) fail_to("written", last_error());
  if (size.QuadPart != bytes_) fail_to("written", "it has another size than was written");
  CloseHandle(file_);
  open_ = false;
  if (MoveFileExW(wide(part_).c_str(), wide(path_).c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return;
  const std::string why = last_error();
  DeleteFileW(wide(part_).c_str());
  fail_to("put in its place", why);
}

}  // namespace kernweave
#endif
