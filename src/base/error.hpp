// The two kinds of failure: the user's, with a class and the facts, and ours, which asks for a report.
#pragma once
#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace kernweave {

// Becomes the R condition class kernweave_error_<name>; R/conditions.R documents each.
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
  value
};

const char* fault_name(Fault fault);

class Failure : public std::exception {
 public:
  Failure(Fault fault, std::string message) : fault(fault), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }

  Fault fault;
  std::string message;
};

// Thrown where the user has asked to stop; carries nothing.
struct Interrupted {};

template <class... Parts>
std::string sentence(const Parts&... parts) {
  std::ostringstream out;
  (void)(out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(Fault fault, const Parts&... parts) {
  throw Failure(fault, sentence(parts...));
}

// The parts are made even where the check holds: where they take work, as showing a formula does, write
// `if (!holds) fail(...)`.
template <class... Parts>
void user_check(bool holds, Fault fault, const Parts&... parts) {
  if (!holds) fail(fault, parts...);
}

template <class... Parts>
void internal_check(bool holds, const Parts&... parts) {
  if (!holds)
    fail(Fault::internal, parts..., ". This is a bug in kernweave: please report it with the call that led here.");
}

}  // namespace kernweave
