// A thread of the operating system, since std::thread does not say how deep its stack is.
#include "base/deep_stack.hpp"

#include <exception>

#ifdef _WIN32
#include <windows.h>
#elif !defined(__EMSCRIPTEN__)
#include <pthread.h>
#endif

namespace kernweave {
namespace {

// Reserved, not used: a page is taken when it is first needed. 64 times what a thread commonly has.
constexpr std::size_t kStackBytes = std::size_t{512} << 20;

struct Errand {
  const std::function<void()>& work;
  std::exception_ptr thrown;

  void run() {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

#ifdef _WIN32
DWORD WINAPI run_errand(void* errand) {
  static_cast<Errand*>(errand)->run();
  return 0;
}
bool run_apart(Errand* errand) {
  const HANDLE thread =
      CreateThread(nullptr, kStackBytes, run_errand, errand, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (!thread) return false;
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
  return true;
}
#elif !defined(__EMSCRIPTEN__)
void* run_errand(void* errand) {
  static_cast<Errand*>(errand)->run();
  return nullptr;
}
bool run_apart(Errand* errand) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                       pthread_create(&thread, &attributes, run_errand, errand) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}
#else
bool run_apart(Errand*) { return false; }
#endif

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  Errand errand{work, nullptr};
  if (!run_apart(&errand)) errand.run();
  if (errand.thrown) std::rethrow_exception(errand.thrown);
}

}  // namespace kernweave
