// The names of the faults in R, and the text of messages.
#include "base/error.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
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

// --- name hint -----------------------------------------------------------------------------------------------------
// Computes the edit distance between two names, regardless of letter case.

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& typed, const std::vector<std::string>& known) {
  if (typed.size() > 64) return "";
  const std::string plain = lower(typed);
  std::string best;
  std::size_t least = std::min<std::size_t>(3, plain.size() / 3) + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edits(plain, lower(name));
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace kernweave
