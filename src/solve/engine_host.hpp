// The executor's host within a solver: results go where they are wanted.
#pragma once
#include <map>
#include <vector>
#include "base/error.hpp"
#include "execute/data.hpp"
#include "execute/host.hpp"
#include "solve/engine_operator.hpp"

namespace kernweave::solve {

class EngineHost : public Host {
 public:
  explicit EngineHost(Poll poll) : poll_(std::move(poll)) {}

  void poll(double share) override { poll_(share); }

  // Fetched once: they stay what they are while a solver is at work.
  const double* on_host(int operand) override {
    internal_check(operands, "numbers of a device where the host has none");
    const View& view = (*operands)[static_cast<std::size_t>(operand)].view;
    internal_check(view.kept && !view.kept->copies.empty(), "numbers that are nowhere");
    std::vector<double>& numbers = fetched_[operand];
    if (numbers.empty()) {
      numbers.resize(static_cast<std::size_t>(view.rows * view.columns));
      view.kept->copies.begin()->second->fetch(numbers.data(), numbers.size() * sizeof(double));
    }
    return numbers.data();
  }

  Result allocate(std::size_t, const Output&, const Sizes&, bool stays) override {
    internal_check(to || stays, "a result of a solver in another place than it expects");
    Result result;
    if (to) result.values = to;
    else result.values_stay = &stay;
    return result;
  }

  double* to = nullptr;  // null: on the device, in `stay`
  Kept stay;
  const std::vector<OperandData>* operands = nullptr;

 private:
  const Poll poll_;
  std::map<int, std::vector<double>> fetched_;
};

}  // namespace kernweave::solve
