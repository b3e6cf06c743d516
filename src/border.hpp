// The one crossing between R and the engine: failures become classed R conditions, interrupts are heard.
#pragma once
#include <Rcpp/Lightest>  // no sugar, no modules: they take half of the compiler's time
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>
#include "base/error.hpp"

namespace kernweave {

// Calls kernweave:::engine_failure(), which signals the condition. It leaves through Rcpp's unwinding,
// so every C++ destructor runs.
[[noreturn]] inline void signal_failure(const char* kind, const std::string& message) {
  const Rcpp::Environment home = Rcpp::Environment::namespace_env("kernweave");
  const Rcpp::Function signal = home["engine_failure"];
  signal(kind, message);
  Rcpp::stop("kernweave: a failure was not signalled");
}

// A failure on its way to R where R's own code has called us and no exception may pass: nothing in it wants destroying.
struct Signal {
  const char* kind = nullptr;  // null: all is well
  char message[1024] = "";
};

inline Signal signal_of(const Failure& failure) {
  Signal signal;
  signal.kind = fault_name(failure.fault);
  std::strncpy(signal.message, failure.message.c_str(), sizeof signal.message - 1);
  return signal;
}

// Leaves by a long jump, if there is anything to signal.
inline void signal_now(const Signal& signal) {
  if (!signal.kind) return;
  const SEXP home = PROTECT(R_FindNamespace(PROTECT(Rf_mkString("kernweave"))));
  const SEXP kind = PROTECT(Rf_mkString(signal.kind)), message = PROTECT(Rf_mkString(signal.message));
  Rf_eval(PROTECT(Rf_lang3(Rf_install("engine_failure"), kind, message)), home);
  UNPROTECT(5);
}

template <class Work>
auto at_border(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Failure& failure) {
    signal_failure(fault_name(failure.fault), failure.message);
  } catch (const Interrupted&) {
    throw Rcpp::internal::InterruptedException();
  } catch (const std::bad_alloc&) {
    signal_failure(fault_name(Fault::memory), "not enough memory for the workspace of this call");
  } catch (const std::length_error&) {
    signal_failure(fault_name(Fault::memory), "the workspace of this call is larger than any memory");
  } catch (const std::exception& failure) {
    signal_failure(fault_name(Fault::internal), failure.what());
  }
}

// Tries work() twice where a device has no memory left: R does not know how much of it its vectors hold, and gives back
// first what nobody needs.
template <class Work>
auto with_second_try(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Failure& failure) {
    if (failure.fault != Fault::memory) throw;
  }
  R_gc();
  return work();
}

// Throws a C++ exception if the user has pressed the interrupt key or the time of setTimeLimit() is over. Called on the
// main thread only. R answers the key by a jump, and the time by an error with a message. To catch an error takes R
// some 0.1 ms, so that R is not asked each time.
inline void poll_interrupt() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point next;
  if (Clock::now() < next) return;
  next = Clock::now() + std::chrono::milliseconds(20);
  Signal late;
  const auto look = [](void* signal) {
    const auto ask = [](void*) { R_CheckUserInterrupt(); return R_NilValue; };
    const auto note = [](SEXP condition, void* to) {
      *static_cast<Signal*>(to) = signal_of({Fault::time_limit, CHAR(STRING_ELT(VECTOR_ELT(condition, 0), 0))});
      return R_NilValue;
    };
    R_tryCatchError(ask, nullptr, note, signal);
  };
  if (R_ToplevelExec(look, &late) == FALSE) throw Interrupted();
  user_check(!late.kind, Fault::time_limit, late.message);
}

// R's functions that have had other names since 4.5.
inline SEXP own_variable(SEXP environment, SEXP symbol) {
#if R_VERSION >= R_Version(4, 5, 0)
  return R_getVarEx(symbol, environment, FALSE, R_NilValue);
#else
  return Rf_findVarInFrame(environment, symbol);
#endif
}

}  // namespace kernweave
