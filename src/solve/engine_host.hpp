// The executor's host within a solver: results go where they are wanted.
#pragma once
#include "base/error.hpp"
#include "execute/host.hpp"
#include "solve/engine_operator.hpp"

namespace kernweave::solve {

class EngineHost : public Host {
 public:
  explicit EngineHost(Poll poll) : poll_(std::move(poll)) {}

  void poll(double share) override { poll_(share); }
  const double* on_host(int) override { fail(Fault::unsupported, "a solver needs its data on the host"); }
  Result allocate(std::size_t, const Output&, const Sizes&, bool) override {
    Result result;
    result.values = to;
    return result;
  }

  double* to = nullptr;

 private:
  const Poll poll_;
};

}  // namespace kernweave::solve
