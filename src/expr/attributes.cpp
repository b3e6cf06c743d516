// Letters for the words of a column, and walks along them.
#include "expr/attributes.hpp"

#include <cctype>

namespace kernweave {

std::string attribute_form(const std::string& column) {
  std::string form;
  if (column == "none") return form;
  for (std::size_t at = 0; at < column.size();) {
    std::size_t end = at;
    while (end < column.size() && (std::isalnum(static_cast<unsigned char>(column[end])) || column[end] == '_')) ++end;
    const std::string word = column.substr(at, end - at);
    const bool opens = end < column.size() && column[end] == '(';
    if (opens && word == "list") form += kList;
    if (opens && word == "maybe") form += kMaybeList;
    // The word inside list() or maybe() is the list's name.
    const bool named =
        at >= 5 && (column.compare(at - 5, 5, "list(") == 0 || (at >= 6 && column.compare(at - 6, 6, "maybe(") == 0));
    if (!word.empty() && !opens && !named) form += kNumber;
    at = end + 1;
  }
  return form;
}

bool have_form(const std::vector<int>& kept, const std::string& form) {
  std::size_t at = 0;
  for (const char letter : form) {
    if (at >= kept.size()) return false;
    if (letter == kNumber) {
      ++at;
      continue;
    }
    const std::size_t left = kept.size() - at - 1;
    if (kept[at] < 0 || static_cast<std::size_t>(kept[at]) > left) return false;
    at += static_cast<std::size_t>(kept[at]) + 1;
  }
  return at == kept.size();
}

std::string show_attributes(const std::vector<int>& kept, const std::string& form) {
  std::string out;
  Attributes read(kept);
  const auto say = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const char letter : form) {
    if (letter == kNumber) {
      say(std::to_string(read.number()));
      continue;
    }
    const std::vector<int> list = read.list();
    if (list.empty() && letter == kMaybeList) continue;
    std::string inside;
    for (int value : list) inside += (inside.empty() ? "" : ", ") + std::to_string(value);
    say("c(" + inside + ")");
  }
  return out;
}

std::vector<int> Attributes::list() {
  const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(next_) + 1;
  const std::vector<int> found(first, first + kept_[next_]);
  next_ += found.size() + 1;
  return found;
}

std::vector<int> first_list(const std::vector<int>& kept, const std::string& form) {
  return form.empty() || form[0] == kNumber ? std::vector<int>() : Attributes(kept).list();
}

void keep(const std::vector<int>& list, std::vector<int>* kept) {
  kept->push_back(static_cast<int>(list.size()));
  kept->insert(kept->end(), list.begin(), list.end());
}

}  // namespace kernweave
