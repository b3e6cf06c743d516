// A shared library opened at run time, and its functions.
#pragma once
#include <string>
#include <vector>

namespace kernweave {

class Library {
 public:
  Library() = default;
  // The first of these names that opens. None: what the last attempt said is in `why`.
  explicit Library(const std::vector<std::string>& names);

  explicit operator bool() const { return handle_ != nullptr; }
  // A function by its name; false if there is none.
  template <class F>
  bool take(const char* name, F* function) const {
    *function = reinterpret_cast<F>(symbol(name));
    return *function != nullptr;
  }
  const std::string& name() const { return name_; }
  const std::string& why() const { return why_; }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;  // never closed: what a driver has started outlives us
  std::string name_, why_;
};

}  // namespace kernweave
