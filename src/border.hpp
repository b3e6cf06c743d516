// The one crossing between R and the engine: failures become classed R conditions, interrupts are noticed.
#pragma once
#include <Rcpp/Lightest>  // no sugar, no modules: they take half of the compiler's time
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
#include "base/error.hpp"
#include "base/view.hpp"

namespace kernweave {

using Rcpp::_, Rcpp::as, Rcpp::CharacterVector, Rcpp::DataFrame, Rcpp::Environment, Rcpp::Function,
    Rcpp::IntegerMatrix, Rcpp::IntegerVector, Rcpp::List, Rcpp::LogicalVector, Rcpp::no_init, Rcpp::NumericMatrix,
    Rcpp::NumericVector, Rcpp::RawVector, Rcpp::RObject, Rcpp::Shield, Rcpp::wrap, Rcpp::XPtr;

// A function of the package's R code.
inline Function own_function(const char* name) { return Environment::namespace_env("kernweave")[name]; }

// A failure on its way to R, in code that R calls and no exception may leave. It has no destructor.
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

// Leaves by a long jump, if there is a failure to signal.
inline void signal_now(const Signal& signal) {
  if (!signal.kind) return;
  const SEXP home = PROTECT(R_FindNamespace(PROTECT(Rf_mkString("kernweave"))));
  const SEXP kind = PROTECT(Rf_mkString(signal.kind)), message = PROTECT(Rf_mkString(signal.message));
  Rf_eval(PROTECT(Rf_lang3(Rf_install("engine_failure"), kind, message)), home);
  UNPROTECT(5);
}

// Carries out a call from R. Rcpp's wrappers of all doors use this function (rooms/border.cpp). A failure becomes the
// condition of kernweave:::engine_failure(), which leaves through Rcpp's unwinding, so every C++ destructor runs.
template <class Work>
SEXP called_from_r(Work work) {
  BEGIN_RCPP
  const auto signal = [](Fault fault, const std::string& message) {
    own_function("engine_failure")(fault_name(fault), message);
    Rcpp::stop("kernweave: a failure was not signalled");
  };
  try {
    return work();
  } catch (const Failure& failure) {
    signal(failure.fault, failure.message);
  } catch (const Interrupted&) {
    throw Rcpp::internal::InterruptedException();
  } catch (const std::bad_alloc&) {
    signal(Fault::memory, "not enough memory for the workspace of this call");
  } catch (const std::length_error&) {
    signal(Fault::memory, "the workspace of this call is larger than any memory");
  } catch (const std::exception& failure) {
    signal(Fault::internal, failure.what());
  }
  END_RCPP
}

// Tries work() twice if a device has no memory left: R does not know how much device memory its vectors hold, so R
// collects unused vectors before the second try.
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
// main thread only. R answers the key by a jump, and the time by an error with a message. Catching an error takes R
// some 0.1 ms, so R is not asked each time.
inline void poll_interrupt() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point next;
  if (Clock::now() < next) return;
  next = Clock::now() + std::chrono::milliseconds(20);
  Signal late;
  const auto look = [](void* signal) {
    const auto ask = [](void*) {
      R_CheckUserInterrupt();
      return R_NilValue;
    };
    const auto note = [](SEXP condition, void* to) {
      *static_cast<Signal*>(to) = signal_of({Fault::time_limit, CHAR(STRING_ELT(VECTOR_ELT(condition, 0), 0))});
      return R_NilValue;
    };
    R_tryCatchError(ask, nullptr, note, signal);
  };
  if (R_ToplevelExec(look, &late) == FALSE) throw Interrupted();
  user_check(!late.kind, Fault::time_limit, late.message);
}

// --- values of R and values of the engine --------------------------------------------------------------------------

// Returns the object behind a pointer of R with this tag; refuses other pointers, and empty ones of another session.
template <class Object>
Object& object_behind(SEXP pointer, const char* tag, const char* what) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == Rf_install(tag);
  internal_check(ours && R_ExternalPtrAddr(pointer), "this is no ", what, " of this session");
  return *static_cast<Object*>(R_ExternalPtrAddr(pointer));
}

// Lets a pointer hold a value that is not saved with it, while `key` lives: pointer -> weak reference, which is in no
// file -> pointer, since R_MakeWeakRef duplicates a shared value -> value.
inline void hold(SEXP pointer, SEXP value, SEXP key) {
  const Shield<SEXP> holder(R_MakeExternalPtr(nullptr, R_NilValue, value));
  R_SetExternalPtrProtected(pointer, R_MakeWeakRef(key, holder, R_NilValue, FALSE));
}
inline SEXP held_by(SEXP pointer) {
  const SEXP holder = R_WeakRefValue(R_ExternalPtrProtected(pointer));
  return TYPEOF(holder) == EXTPTRSXP ? R_ExternalPtrProtected(holder) : R_NilValue;
}

// Ends the object behind a pointer of R, when the pointer is collected or before.
template <class Object>
void forget(SEXP pointer) {
  delete static_cast<Object*>(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

// The names of reductions' results, in the order of their values.
constexpr std::initializer_list<const char*> kResults = {"value", "index", "value_index"};

// Returns the value of an enumeration whose name in the list is `name`.
template <class Value>
Value named(const char* what, const std::string& name, std::initializer_list<const char*> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  internal_check(found != names.end(), "no ", what, " named ", name);
  return static_cast<Value>(found - names.begin());
}

inline void make_matrix(SEXP vector, std::int64_t rows, std::int64_t columns) {
  Rf_setAttrib(vector, R_DimSymbol, IntegerVector::create(static_cast<int>(rows), static_cast<int>(columns)));
}

// Makes a column of a data frame: `get` of each row.
template <class Rows, class Get>
auto column(const Rows& rows, Get get) {
  using Found = std::decay_t<decltype(std::invoke(get, *rows.begin()))>;
  using Value = std::conditional_t<std::is_arithmetic_v<Found>, Found, std::string>;
  Rcpp::Vector<Rcpp::traits::r_sexptype_traits<Value>::rtype> made(static_cast<R_xlen_t>(rows.size()));
  std::transform(rows.begin(), rows.end(), made.begin(), [&](const auto& row) { return Value(std::invoke(get, row)); });
  return made;
}

using Names = std::initializer_list<const char*>;

// Makes a list of values with these names.
template <class... Values>
List listed(Names names, const Values&... values) {
  List made(sizeof...(values));
  R_xlen_t at = 0;
  ((made[at++] = wrap(values)), ...);
  made.names() = CharacterVector(names.begin(), names.end());
  return made;
}

// Makes a list of columns, each `get` of the rows, with these names.
template <class Rows, class... Gets>
List table(const Rows& rows, Names names, Gets... gets) {
  return listed(names, column(rows, gets)...);
}

// --- vectors whose numbers lie on a device, and come to R when R reads them (r_resident.cpp) ------------------------

// Makes a vector of doubles or integers; a back end is about to leave its numbers in the memory kept for it.
SEXP resident_vector(SEXPTYPE type, R_xlen_t length);

// Returns a vector's numbers in R's memory, fetched from a device if necessary, or in a file that must not have changed
// (r_map.cpp). If the numbers cannot be had, R's error unwinds through C++.
const void* numbers_unwinding(SEXP vector);
const double* numbers_on_host(SEXP vector);

// Returns the address at which plain items of a vector of R may be written.
void* numbers_of(SEXP vector);
std::size_t bytes_of_item(SEXP vector);

// Returns the record of a vector's copies on devices; null for a vector of any other class.
Kept* resident(SEXP vector);

// R's functions that have other names since R 4.5.
inline SEXP own_variable(SEXP environment, SEXP symbol) {
#if R_VERSION >= R_Version(4, 5, 0)
  return R_getVarEx(symbol, environment, FALSE, R_NilValue);
#else
  return Rf_findVarInFrame(environment, symbol);
#endif
}

}  // namespace kernweave
