// The whole numbers of an operation. As they are kept, numbers stand for themselves and lists behind their lengths.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace kernweave {

// The kinds of attributes, by a letter: the column `c(list(places), width)` of ops.def has the form "ln".
constexpr char kNumber = 'n', kList = 'l', kMaybeList = 'm';  // which is empty where nothing is given
std::string attribute_form(const std::string& column);

bool have_form(const std::vector<int>& kept, const std::string& form);
// "3, c(1, 2)", as R would write them; a list that is missing is left out.
std::string show_attributes(const std::vector<int>& kept, const std::string& form);

// Reads them one after the other. Their form is known to be right.
class Attributes {
 public:
  explicit Attributes(const std::vector<int>& kept) : kept_(kept) {}
  int number() { return kept_[next_++]; }
  std::vector<int> list();
  bool at_end() const { return next_ == kept_.size(); }

 private:
  const std::vector<int>& kept_;
  std::size_t next_ = 0;
};

// Returns the first list of attributes whose form begins with a list; else empty.
std::vector<int> first_list(const std::vector<int>& kept, const std::string& form);

inline void keep(int number, std::vector<int>* kept) { kept->push_back(number); }
void keep(const std::vector<int>& list, std::vector<int>* kept);

}  // namespace kernweave
