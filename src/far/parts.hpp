// The values of a formula's steps as products: factors of either side, a formula of the squared distance, and a power
// of the difference of the points.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/view.hpp"
#include "far/profile.hpp"
#include "plan/plan.hpp"
#include "reference/evaluate.hpp"

namespace kernweave {
namespace far {

// A factor, or what is divided by.
struct Factor {
  Ref ref;
  bool divides;
};

struct Part {
  static constexpr int kOne = -1;

  std::vector<Factor> rows, columns;
  std::vector<double> numbers = {1};  // one, or one for each component
  int place = kOne;                   // of a value of the profile, if there is one
  int power = 0;                      // of the difference of a row and a column
};

// Why a formula cannot be taken apart.
struct Refused {
  std::string why;
};

class Parts {
 public:
  // Steps are added to the profile as they are met. The evaluator has run the steps of parameters.
  Parts(const Plan& plan, const std::vector<View>& data, const Evaluator& evaluator, Profile* profile)
      : plan_(plan), program_(plan.variants.back().program), data_(data), evaluator_(evaluator), profile_(profile) {}

  Part of(const Ref& ref);
  // Where the profile has it with its number, and without its factors.
  int place_of(const Part& part);

  // The points that all differences are of.
  struct Sides {
    Ref row, column;
    int width;
  };
  const std::optional<Sides>& sides() const { return sides_; }
  // What each component's square is multiplied by in the distance; none where there is no distance.
  const std::vector<double>& weights() const { return weights_; }

 private:
  enum class Depends { param, row, column, pair };

  Depends depends(const Ref& ref) const;
  std::string name_of(const Ref& ref) const;
  bool same(const Ref& a, const Ref& b) const;
  bool same(std::vector<Factor> a, std::vector<Factor> b) const;
  std::optional<Part> of_side(const Ref& ref, int depth);
  Part of_step(const Step& step);
  Part sum(const Step& step);
  struct Places {
    int one = 0, other = 0;
  };
  Places united(const Part& a, const Part& b, const char* what, Part* both);
  Part choice(const Step& step);
  Part plain_step(const Step& step);
  Part difference(const Ref& a, const Ref& b, int width);
  Part folded(Part part, int width, const char* fn);
  int plain(const Ref& ref, const Step& by);
  int new_number(double number);
  int new_step(Op op, const std::vector<int>& in);
  int times(int a, int b);
  void refuse_longer() const;

  const Plan& plan_;
  const Program& program_;
  const std::vector<View>& data_;
  const Evaluator& evaluator_;
  Profile* const profile_;
  std::optional<Sides> sides_;
  std::vector<double> weights_;
  std::map<int, Part> known_;  // by slots
  int depth_ = 0;              // of steps that the present one is part of
};

}  // namespace far
}  // namespace kernweave
