// The interface of the executor's caller: the border to R, a solver, a test.
#pragma once
#include <string>
#include "schedule/backend.hpp"

namespace kernweave {

class Host {
 public:
  virtual ~Host() = default;
  // Called now and then with the share that is done; throws Interrupted to stop.
  virtual void poll(double) {}
  // Frees memory, of devices too, that nobody needs any more.
  virtual void collect() {}
  // A message to the user.
  virtual void say(const std::string&) {}
  // The numbers of an operand that lie on a device alone.
  virtual const double* on_host(int operand) = 0;
  // Returns the place for the result of output number k. `stays`: the result shall be left on the device that finds it.
  virtual Result allocate(std::size_t k, const Output& output, const Sizes& sizes, bool stays) = 0;
};

}  // namespace kernweave
