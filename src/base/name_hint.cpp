// Edit distance between names, letter case aside.
#include "base/name_hint.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kernweave {
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
