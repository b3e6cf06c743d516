// Routines that tests call by .External() and users do not have: a room that is compiled only where configure is told.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "border.hpp"

namespace kernweave::windows {

// All there are: each file of the room adds its own when the library is loaded.
inline std::vector<R_ExternalMethodDef>& all_windows() {
  static std::vector<R_ExternalMethodDef> all;
  return all;
}

struct WindowTable {
  explicit WindowTable(std::initializer_list<R_ExternalMethodDef> more) {
    all_windows().insert(all_windows().end(), more.begin(), more.end());
  }
};

// R's arguments to those of a function, and its value to R.
template <auto function>
struct Call;
template <class Value, class... Args, Value (*function)(Args...)>
struct Call<function> {
  static constexpr int count = sizeof...(Args);

  static SEXP from_r(SEXP given) {
    return called_from_r([&] {
      SEXP numbered[sizeof...(Args) + 1];
      for (SEXP* at = numbered; given = CDR(given), given != R_NilValue;) *at++ = CAR(given);
      return on(numbered, std::index_sequence_for<Args...>());
    });
  }

 private:
  template <std::size_t... k>
  static SEXP on(const SEXP* args, std::index_sequence<k...>) {
    if constexpr (std::is_void_v<Value>) {
      function(Rcpp::as<Args>(args[k])...);
      return R_NilValue;
    } else {
      return Rcpp::Shield<SEXP>(Rcpp::wrap(function(Rcpp::as<Args>(args[k])...)));
    }
  }
};

template <auto function>
R_ExternalMethodDef window(const char* name) {
  return {name, reinterpret_cast<DL_FUNC>(&Call<function>::from_r), Call<function>::count};
}

}  // namespace kernweave::windows
