// Solvers' loops and preconditioners with their columns on a device, whatever multiplies.
#include "window.hpp"

#include "device/device.hpp"
#include "device/driver.hpp"
#include "r_solve.hpp"
#include "solve/columns.hpp"
#include "solve/lanczos.hpp"

namespace kernweave::windows {
namespace {

using solve::Block;
using solve::Columns;

// An operator whose columns are at home on a device; its products go by way of the host.
class Lodger : public solve::Operator {
 public:
  Lodger(solve::OperatorPointer own, device::Device* home)
      : Operator(own->rows, own->columns), own_(std::move(own)), home_(home) {}

  device::Device* home() override { return home_; }
  void times(const Block& x, Block* y) override { own_->times(x, y); }
  void multiply(const Columns& x, Columns* y) override {
    internal_check(x.device() == home_, "columns that have left their device");
    own_->multiply(x, y);
  }

 private:
  const solve::OperatorPointer own_;
  device::Device* const home_;
};

Rcpp::List answers_of(solve::Preconditioner* p, const Block& b, device::Device* home) {
  const Columns x = Columns(b).sent_to(home);
  Columns root, turned, inverse;
  p->root(x, &root);
  p->root_transposed(x, &turned);
  p->inverse(x, &inverse);
  return Rcpp::List::create(Rcpp::_["root"] = root.to_host(),
                            Rcpp::_["turned"] = turned.to_host(),
                            Rcpp::_["inverse"] = inverse.to_host());
}

device::Device* device_of(int number) {
  if (number < 0) return nullptr;
  const Verdict ready = device::probe(number);
  user_check(ready.yes, Fault::no_device, ready.why);
  return &device::open(number);
}

Rcpp::List weighed(solve::Preconditioner* p, solve::Index landmarks, device::Device* home) {
  const solve::InverseWeights weights = solve::inverse_weights(p, {0, landmarks}, home);
  const solve::WeightedPairs pairs =
      solve::weighted_pairs(*p, 7, std::min<solve::Index>(90, weights.cross.cols() - 7), home);
  return Rcpp::List::create(
      Rcpp::_["own"] = weights.own, Rcpp::_["cross"] = weights.cross.to_host(),
      Rcpp::_["diagonal"] = weights.diagonal, Rcpp::_["rows"] = pairs.rows.to_host(),
      Rcpp::_["columns"] = pairs.columns.to_host(),
      Rcpp::_["weights"] = pairs.weights.to_host());
}

// Returns the results of solvers with their columns on device `number`, or with -1 on the host. `thin`: the
// preconditioner's products, from the landmarks and to them. `local`: the preconditioner has neighbours.
Rcpp::List columns(Rcpp::List matrix, SEXP preconditioner, Rcpp::List thin, Rcpp::NumericMatrix b,
                   Rcpp::NumericMatrix start, bool local, int number) {
  namespace solve = solve;
  const Poll poll = [](double) {};
  device::Device* const home = device_of(number);
  Lodger op(operator_from_r(matrix, poll).op, home);
  auto* const p = static_cast<solve::Preconditioner*>(R_ExternalPtrAddr(preconditioner));
  p->bind({operator_from_r(thin["from"], poll).op, operator_from_r(thin["to"], poll).op});
  const solve::Block sides = Rcpp::as<Block>(b), from = Rcpp::as<Block>(start);
  const auto solution = solve::conjugate_gradients(&op, p, sides, from, {1e-9, 500, 2}, poll);
  const auto split = solve::split_operator(&op, p);
  const auto half = solve::conjugate_gradients(split.get(), nullptr, sides, {}, {1e-3, 500, 2}, poll,
                                               [](const auto& now) { return now.history.back() < 0.1; });
  Rcpp::List weights;
  const auto landmarks = static_cast<solve::Index>(landmarks_from_r(description_behind(preconditioner)).size());
  if (local) weights = weighed(p, landmarks, home);
  return Rcpp::List::create(
      Rcpp::_["x"] = solution.x.to_host(), Rcpp::_["iterations"] = solution.iterations,
      Rcpp::_["residual"] = solution.residual, Rcpp::_["half"] = half.x.to_host(),
      Rcpp::_["left"] = half.left.to_host(), Rcpp::_["steps"] = half.iterations,
      Rcpp::_["applied"] = answers_of(p, sides, home), Rcpp::_["weights"] = weights);
}

// A preconditioner with neighbours that is built on a device of this number, or with -1 on the host: its determinant,
// and the weights of all its pairs, which are products of the sparse factor's numbers.
Rcpp::List built(Rcpp::List description, int number) {
  namespace solve = solve;
  auto numbers = Rcpp::as<solve::Entries>(description["entries"]);
  const auto built =
      solve::landmark_vecchia_preconditioner(&numbers, landmarks_from_r(description), neighbours_from_r(description),
                                     Rcpp::as<solve::Vector>(description["ridge"]), device_of(number), 2, poll_r);
  const solve::WeightedPairs pairs = solve::weighted_pairs(*built, 0, Rf_xlength(SEXP(description["order"])), nullptr);
  return Rcpp::List::create(Rcpp::_["logdet"] = built->logdet, Rcpp::_["rows"] = pairs.rows.block(),
                            Rcpp::_["columns"] = pairs.columns.block(),
                            Rcpp::_["weights"] = pairs.weights.block());
}

std::string column_kernels() { return solve::column_kernels(); }

const WindowTable of_columns({window<columns>("columns"), window<built>("built"),
                          window<column_kernels>("column_kernels")});

}  // namespace
}  // namespace kernweave::windows
