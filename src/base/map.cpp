// Writes new files: the part common to all operating systems. The rest is base/map_posix.cpp and base/map_windows.cpp.
#include "base/map.hpp"

#include "base/error.hpp"

namespace kernweave {

bool operator==(const FileStamp& a, const FileStamp& b) {
  return a.bytes == b.bytes && a.number == b.number && a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

NewFile::~NewFile() { forget(); }

void NewFile::fail_to(const char* what, const std::string& why) const {
  fail(Fault::disk, "`", path_, "` cannot be ", what, ": ", why);
}

}  // namespace kernweave
