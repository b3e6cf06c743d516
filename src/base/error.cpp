// Names of the faults, as R sees them, and messages of their parts.
#include "base/error.hpp"

#include <sstream>

namespace kernweave {

std::string sentence_of(std::initializer_list<Said> parts) {
  std::ostringstream out;
  for (const Said& each : parts) std::visit([&](const auto& value) { out << value; }, each);
  return out.str();
}

const char* fault_name(Fault fault) {
  switch (fault) {
    case Fault::input: return "input";
    case Fault::shape: return "shape";
    case Fault::kind: return "kind";
    case Fault::syntax: return "syntax";
    case Fault::unknown_op: return "unknown_op";
    case Fault::unsupported: return "unsupported";
    case Fault::no_device: return "no_device";
    case Fault::no_gradient: return "no_gradient";
    case Fault::index: return "index";
    case Fault::memory: return "memory";
    case Fault::indefinite: return "indefinite";
    case Fault::internal: return "internal";
    case Fault::time_limit: return "time_limit";
    case Fault::value: return "value";
    case Fault::disk: return "disk";
    case Fault::file_changed: return "file_changed";
  }
  return "internal";
}

}  // namespace kernweave
