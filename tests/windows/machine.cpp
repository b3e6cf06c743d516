// The machine: instruction sets, what a device has and is asked, and vectors that lie on a device that is none.
#include "window.hpp"

#include <algorithm>

#include "base/system.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "lanes/isa.hpp"
#include "schedule/facts.hpp"

namespace kernweave::windows {
namespace {

// All instruction sets that this machine has, best first.
Rcpp::CharacterVector instruction_sets() { return Rcpp::wrap(kernweave::instruction_sets()); }

// Processors that a system allows whose files lie under `root`.
double core_quota(std::string root) { return kernweave::core_quota(root); }

// Processors of this process where control groups leave so much.
int cores_within(double quota) { return kernweave::cores_within(quota).count; }

// Compiles a source for a compute capability (90 for 9.0); needs NVRTC, but no GPU.
Rcpp::RawVector cuda_compile(std::string source, int capability) {
  const std::string code = device::compile(source, capability);
  return Rcpp::RawVector(code.begin(), code.end());
}

// Bytes of a device's memory that nothing uses.
double gpu_free_memory() { return static_cast<double>(device::open(0).free_memory()); }

// Takes memory of a device away until it is collected.
SEXP gpu_hold(double bytes) {
  device::Device& gpu = device::open(0);
  return Rcpp::XPtr<device::Block>(new device::Block(gpu.allocate(static_cast<std::size_t>(bytes), "a test")));
}

// GPUs that a machine with one shall seem to have.
void gpu_pretend(int count) { device::pretend(count); }

// Gives back to the driver what the device's pool has.
void gpu_trim() { device::open(0).trim(); }

// Writes to memory that may only be read, as rude code does. Returns the number that was there.
double write_rudely(SEXP x, double value) {
  std::swap(*REAL(x), value);
  return value;
}

// A device that is none.
class Elsewhere : public Copy {
 public:
  Elsewhere(SEXP x, bool tells)
      : tells_(tells),
        numbers_(static_cast<const char*>(DATAPTR_RO(x)), static_cast<const char*>(DATAPTR_RO(x)) + bytes_of(x)) {}
  void fetch(void* to, std::size_t bytes) const override {
    user_check(bytes == numbers_.size(), Fault::no_device, "the device has gone");
    std::copy(numbers_.begin(), numbers_.end(), static_cast<char*>(to));
    fetched += static_cast<double>(bytes);
  }
  std::optional<std::vector<double>> some_rows(const View& points, std::int64_t step) const override {
    if (!tells_) return {};
    std::vector<double> some;
    for (std::int64_t d = 0; d < points.columns; ++d)
      for (std::int64_t r = 0; r < points.rows; r += step) some.push_back(at()[d * points.rows + r]);
    fetched += static_cast<double>(some.size() * sizeof(double));
    return some;
  }
  std::optional<double> reach(const View& points, const std::vector<double>& centre) const override {
    if (!tells_) return {};
    Facts facts;
    note_reach({at(), points.rows, points.columns}, centre, &facts);
    return facts.reach;
  }
  static double fetched;  // bytes, from all of them

 private:
  const double* at() const { return reinterpret_cast<const double*>(numbers_.data()); }
  static std::size_t bytes_of(SEXP x) {
    return static_cast<std::size_t>(Rf_xlength(x)) * (TYPEOF(x) == INTSXP ? sizeof(int) : sizeof(double));
  }
  bool tells_;
  std::vector<char> numbers_;
};
double Elsewhere::fetched = 0;

// A vector whose numbers lie on a device that is none; of another length than they have, they cannot be fetched.
// Where it `tells`, it can be asked about points.
SEXP elsewhere(SEXP x, double length, bool tells) {
  const Rcpp::Shield<SEXP> made(resident_vector(TYPEOF(x), static_cast<R_xlen_t>(length)));
  constexpr int kNoDevice = -1;
  resident(made)->copies[kNoDevice] = std::make_unique<Elsewhere>(x, tells);
  if (length == static_cast<double>(Rf_xlength(x))) SHALLOW_DUPLICATE_ATTRIB(made, x);
  return made;
}

// Bytes that have been fetched from such vectors.
double elsewhere_fetched() { return Elsewhere::fetched; }

// Every step-th row of points that are sent to a device, and how far they reach from a centre.
Rcpp::List cloud(Rcpp::NumericMatrix points, double step, std::vector<double> centre) {
  const Verdict ready = device::probe(0);
  user_check(ready.yes, Fault::no_device, ready.why);
  device::Device& gpu = device::open(0);
  const std::size_t bytes = static_cast<std::size_t>(points.size()) * sizeof(double);
  const device::Block block = gpu.allocate(bytes, "a test");
  gpu.upload(block.at(), points.begin(), bytes);
  const device::Cloud cloud{block.at(), points.nrow(), points.ncol()};
  return Rcpp::List::create(Rcpp::_["rows"] = device::some_rows(cloud, static_cast<std::int64_t>(step), &gpu),
                            Rcpp::_["reach"] = device::reach(cloud, centre, &gpu));
}

std::string cloud_kernels() { return device::cloud_kernels(); }

const WindowTable of_machine({window<instruction_sets>("instruction_sets"), window<core_quota>("core_quota"),
                          window<cores_within>("cores_within"),
                          window<cuda_compile>("cuda_compile"), window<gpu_free_memory>("gpu_free_memory"),
                          window<gpu_hold>("gpu_hold"), window<gpu_pretend>("gpu_pretend"),
                          window<gpu_trim>("gpu_trim"), window<write_rudely>("write_rudely"),
                          window<elsewhere>("elsewhere"),
                          window<elsewhere_fetched>("elsewhere_fetched"), window<cloud>("cloud"),
                          window<cloud_kernels>("cloud_kernels")});

}  // namespace
}  // namespace kernweave::windows
