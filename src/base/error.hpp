// The two kinds of failure (the user's errors and our bugs), the known name nearest to a mistyped name, and verdicts.
#pragma once
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace kernweave {

// A fault becomes the R condition class kernweave_error_<name>, which R/house-conditions.R documents.
enum class Fault {
  input,
  shape,
  kind,
  syntax,
  unknown_op,
  unsupported,
  no_device,
  no_gradient,
  index,
  memory,
  indefinite,
  internal,
  time_limit,
  value,
  disk,
  file_changed
};

const char* fault_name(Fault fault);

class Failure : public std::exception {
 public:
  Failure(Fault fault, std::string message) : fault(fault), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }

  Fault fault;
  std::string message;
};

// An exception that carries nothing, thrown when the user has asked to stop.
struct Interrupted {};

// A part of a message. All text has one type, whatever its length, so that few functions are compiled.
using Said = std::variant<std::string_view, char, long long, double>;

inline Said said(std::string_view text) { return text; }
inline Said said(char letter) { return letter; }

template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
Said said(Number number) {
  if constexpr (std::is_floating_point_v<Number>) return static_cast<double>(number);
  else return static_cast<long long>(number);
}

std::string sentence_of(std::initializer_list<Said> parts);

template <class... Parts>
std::string sentence(const Parts&... parts) {
  return sentence_of({said(parts)...});
}

template <class... Parts>
[[noreturn]] void fail(Fault fault, const Parts&... parts) {
  throw Failure(fault, sentence(parts...));
}

// The parts are made even if the check holds. If making them takes work, such as showing a formula, write `if (!holds)
// fail(...)`.
template <class... Parts>
void user_check(bool holds, Fault fault, const Parts&... parts) {
  if (!holds) fail(fault, parts...);
}

template <class... Parts>
void internal_check(bool holds, const Parts&... parts) {
  if (!holds)
    fail(Fault::internal, parts..., ". This is a bug in kernweave: please report it with the call that led here.");
}

// --- name hint -----------------------------------------------------------------------------------------------------
// Finds the known name that is nearest to a mistyped name, for "did you mean".

// Returns "" if no name is within one edit for every three letters, and three edits at most.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& known);

// --- verdict -------------------------------------------------------------------------------------------------------
// The answer to "can you?": yes, or no with the reason.

struct Verdict {
  bool yes = true;
  std::string why;

  static Verdict no(std::string why) { return {false, std::move(why)}; }
};

}  // namespace kernweave
