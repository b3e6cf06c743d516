// The interface of the executor's caller: the border to R, a solver, a test.
#pragma once
#include <string>
#include <vector>
#include "base/error.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

class Host {
 public:
  virtual ~Host() = default;
  // Called now and then with the share that is done; throws Interrupted to stop.
  virtual void poll(double) {}
  // Frees memory, of devices too, that nobody needs any more.
  virtual void collect() {}
  // Shows a message to the user.
  virtual void say(const std::string&) {}
  // Copies the numbers of an operand that lie on a device alone to the host.
  virtual const double* on_host(int operand) = 0;
  // Returns the place for the result of output number k. `stays`: the result shall be left on the device that finds it.
  virtual Result allocate(std::size_t k, const Output& output, const Sizes& sizes, bool stays) = 0;
};

// --- memory host ---------------------------------------------------------------------------------------------------
// The host of a solver: results go to vectors of C++, which keep their memory from run to run.

class MemoryHost : public Host {
 public:
  // The results of each output: rows x places x components, run after run.
  std::vector<std::vector<double>> values, numbers;
  double no_number = 0;  // stands for a row number where there is no row

  const double* on_host(int) override { fail(Fault::internal, "numbers of a device where the host has none"); }

  Result allocate(std::size_t k, const Output& output, const Sizes& sizes, bool) override {
    if (values.size() <= k) values.resize(k + 1), numbers.resize(k + 1);
    const auto size =
        static_cast<std::size_t>(kept_rows(output.keep, sizes) * output.width * output.places * sizes.kept_runs());
    Result result;
    if (output.finish.results != Results::index) {
      values[k].resize(size);
      result.values = values[k].data();
    }
    if (output.finish.results != Results::value) {
      numbers[k].resize(size);
      result.numbers = {nullptr, numbers[k].data(), no_number};
    }
    return result;
  }
};

}  // namespace kernweave
