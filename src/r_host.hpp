// R as the host of a call: its interrupt, its messages, its memory for results.
#pragma once
#include "border.hpp"
#include <chrono>
#include <deque>
#include <string>
#include "execute/host.hpp"
#include "r_data.hpp"

namespace kernweave {

// One output, as an array of R or a list of value and index.
class OutputBuffer {
 public:
  // `stays`: shall numbers be left on the device that finds them?
  OutputBuffer(const Output& o, const Sizes& sizes, const PointNames& names, bool stays);

  Result result();  // where a back end writes
  // Keeps these rows alone.
  void keep_rows(const ResultRows::OfOutput& rows);
  SEXP to_r();

 private:
  SEXP shaped(Rcpp::RObject array) const;
  SEXP values_to_r() const;
  bool numbers_fit() const;

  const Output& output_;
  Sizes sizes_;
  PointNames names_;
  Rcpp::RObject values_;
  Rcpp::RObject numbers_;  // of rows
};

// R's progress, told of a call that has come so far in so many seconds, or NA of both. Was anything shown of it?
bool progress_polled(double share, double seconds);

class RHost : public Host {
 public:
  RHost(const Given& given, PointNames names);
  ~RHost() override;

  void poll(double share) override;
  void collect() override;
  void say(const std::string& message) override;
  const double* on_host(int operand) override;
  Result allocate(std::size_t k, const Output& output, const Sizes& sizes, bool stays) override;

  Rcpp::List results();
  // Returns the results of some rows alone.
  Rcpp::List results(const ResultRows& block);

 private:
  using Clock = std::chrono::steady_clock;

  const Given& given_;
  const PointNames names_;
  std::deque<OutputBuffer> buffers_;
  const Clock::time_point start_;
  Clock::time_point next_;  // to say how far the call has come
  bool shown_ = false;
};

}  // namespace kernweave
