// Registers the windows when the library is loaded; where they are not compiled, src/rooms/no_windows.cpp does.
#include "window.hpp"

void register_windows(DllInfo* dll) {
  std::vector<R_ExternalMethodDef> all = kernweave::windows::all_windows();
  std::vector<std::string> names;
  for (const R_ExternalMethodDef& window : all) names.push_back(std::string("window_") + window.name);
  for (std::size_t k = 0; k < all.size(); ++k) all[k].name = names[k].c_str();
  all.push_back({nullptr, nullptr, 0});
  R_registerRoutines(dll, nullptr, nullptr, nullptr, all.data());
  R_useDynamicSymbols(dll, FALSE);
}
