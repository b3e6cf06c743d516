// The one place that knows how an operating system opens a library.
#include "base/library.hpp"

#ifdef _WIN32
#include <windows.h>
#elif !defined(__EMSCRIPTEN__)
#include <dlfcn.h>
#endif

namespace kernweave {
namespace {

#ifdef _WIN32
void* open(const std::string& name, std::string* why) {
  void* handle = reinterpret_cast<void*>(LoadLibraryA(name.c_str()));
  if (!handle) *why = name + " cannot be opened (error " + std::to_string(GetLastError()) + ")";
  return handle;
}
void* find(void* handle, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle), name));
}
#elif defined(__EMSCRIPTEN__)
void* open(const std::string&, std::string* why) {
  *why = "WebAssembly opens no libraries";
  return nullptr;
}
void* find(void*, const char*) { return nullptr; }
#else
void* open(const std::string& name, std::string* why) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* said = handle ? nullptr : dlerror();
  if (!handle) *why = said ? said : name + " cannot be opened";
  return handle;
}
void* find(void* handle, const char* name) { return dlsym(handle, name); }
#endif

}  // namespace

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string why;
    handle_ = open(name, &why);
    if (handle_) {
      name_ = name;
      return;
    }
    // The first one says most: later names are guesses.
    if (why_.empty()) why_ = why;
  }
}

void* Library::symbol(const char* name) const { return handle_ ? find(handle_, name) : nullptr; }

}  // namespace kernweave
