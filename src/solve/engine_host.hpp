// The executor's host within a solver: it writes results to the solver's memory.
#pragma once
#include <map>
#include <memory>
#include <vector>
#include "base/error.hpp"
#include "execute/data.hpp"
#include "execute/host.hpp"
#include "solve/operator.hpp"

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

// Operands that a device is to have all of: who has nobody that keeps a copy gets one of `copies`.
inline void make_resident(std::vector<OperandData>* operands, std::vector<std::unique_ptr<Kept>>* copies) {
  for (OperandData& operand : *operands) {
    operand.resident = true;
    if (operand.view.kept) continue;
    copies->push_back(std::make_unique<Kept>());
    operand.view.kept = copies->back().get();
  }
}

}  // namespace kernweave::solve
