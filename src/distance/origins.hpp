// The values of a formula's steps: what they depend on, and what data they are sums or products of.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/view.hpp"
#include "distance/difference.hpp"
#include "distance/factored.hpp"
#include "plan/plan.hpp"
#include "reference/evaluate.hpp"

namespace kernweave {
namespace distance {

class Origins {
 public:
  // The evaluator has run the steps of parameters.
  Origins(const Plan& plan, const std::vector<View>& data, const Evaluator& evaluator)
      : plan_(plan), program_(plan.variants.back().program), data_(data), evaluator_(evaluator) {}

  enum class Depends { param, row, column, pair };
  Depends depends(const Ref& ref) const;
  const Step* maker(const Ref& ref) const { return program_.maker(ref); }
  // By the data in it.
  std::string name_of(const Ref& ref) const;

  // Of a parameter.
  std::vector<double> numbers(const Ref& ref) const;
  // As a sum of data of both sides and numbers. What is none is data itself, where it is made of one side.
  std::optional<Mixtures> mixture(const Ref& ref, int depth = 0);
  // What depends on one side as a product of numbers and data, so that it is known again in others.
  Factored factors(const Ref& ref, int depth = 0);

  // Which arguments it is linear in, the others being parameters.
  std::optional<std::vector<bool>> linear(const Step& step) const;
  LinearMap map(const Step& step, std::size_t argument) const;

 private:
  bool on_one_side(const Ref& ref) const;
  Ref first_known(const Ref& ref) const;
  std::optional<Mixtures> mixture_of(const Step& step, int depth);
  Factored factors_of(const Step& step, int depth);

  const Plan& plan_;
  const Program& program_;
  const std::vector<View>& data_;
  const Evaluator& evaluator_;
  std::map<int, std::optional<Mixtures>> mixtures_;  // by slots, and so are factors
  std::map<int, Factored> factors_;
};

}  // namespace distance
}  // namespace kernweave
