// Windows into the engine for the tests: facts, reductions folded in pieces, and vectors that lie elsewhere.
#include "border.hpp"
#include "r_resident.hpp"

#include <algorithm>

#include "cuda/device.hpp"
#include "expr/table.hpp"
#include "schedule/facts.hpp"

// [[Rcpp::export(rng = false)]]
Rcpp::List r_facts(Rcpp::NumericMatrix data) {
  const kernweave::View view{data.begin(), data.nrow(), data.ncol()};
  const std::vector<double> centre = kernweave::centre_of(view);
  kernweave::Facts f;
  f.rows = view.rows;
  kernweave::note_range(view, &f);
  kernweave::note_reach(view, centre, &f);
  return Rcpp::List::create(Rcpp::_["rows"] = static_cast<double>(f.rows), Rcpp::_["least"] = f.least,
                            Rcpp::_["largest"] = f.largest, Rcpp::_["finite"] = f.finite, Rcpp::_["centre"] = centre,
                            Rcpp::_["reach"] = f.reach);
}

// One reduction over given numbers, cut into pieces that are folded apart and merged in order: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_fold(std::string op, Rcpp::NumericVector values, Rcpp::NumericVector weights, int K,
                  Rcpp::IntegerVector cuts) {
  return kernweave::at_border([&] {
    kernweave::Red red;
    kernweave::internal_check(kernweave::find_red(op, &red), "no reduction ", op);
    const kernweave::StateRow& row = kernweave::row(red).state;
    const std::size_t words = row.size / sizeof(double) + 2 + static_cast<std::size_t>(row.storage(K)) / sizeof(double);
    struct Piece {
      std::vector<double> state, storage;
    };
    const auto fresh = [&] {
      Piece piece{std::vector<double>(words), std::vector<double>(words)};
      row.init(piece.state.data(), piece.storage.data(), K);
      return piece;
    };
    Piece total = fresh(), piece = fresh();
    for (R_xlen_t k = 0; k < values.size(); ++k) {
      row.step(piece.state.data(), kernweave::Lane(values[k]), kernweave::Lane(weights[k]), k + 1, true);
      row.step(piece.state.data(), kernweave::Lane(-1e6), kernweave::Lane(1.0), k + 1, false);
      if (std::find(cuts.begin(), cuts.end(), static_cast<int>(k) + 1) == cuts.end()) continue;
      row.merge(total.state.data(), piece.state.data());
      piece = fresh();
    }
    row.merge(total.state.data(), piece.state.data());
    std::vector<kernweave::Lane> value(K, kernweave::Lane(0.0));
    std::vector<kernweave::Index> index(K, 0);
    row.finish(total.state.data(), value.data(), index.data());
    Rcpp::NumericVector numbers(K), places(K);
    for (int k = 0; k < K; ++k) {
      numbers[k] = value[k].v;
      places[k] = index[k] == 0 ? NA_REAL : static_cast<double>(index[k]);
    }
    return Rcpp::List::create(Rcpp::_["value"] = numbers, Rcpp::_["index"] = places);
  });
}

// Bytes of a device's memory that nothing uses.
// [[Rcpp::export(rng = false)]]
double r_gpu_free_memory() {
  return kernweave::at_border([&] { return static_cast<double>(kernweave::cuda::device(0).free_memory()); });
}

// Takes memory of a device away until it is collected.
// [[Rcpp::export(rng = false)]]
SEXP r_gpu_hold(double bytes) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::cuda::Device& gpu = kernweave::cuda::device(0);
    return Rcpp::XPtr<kernweave::cuda::Block>(
        new kernweave::cuda::Block(gpu.allocate(static_cast<std::size_t>(bytes), "a test")));
  });
}

// GPUs that a machine with one shall seem to have.
// [[Rcpp::export(rng = false)]]
void r_gpu_pretend(int count) { kernweave::cuda::pretend_devices(count); }

// Gives back to the driver what the device's pool has.
// [[Rcpp::export(rng = false)]]
void r_gpu_trim() {
  kernweave::at_border([&] { kernweave::cuda::device(0).trim(); });
}

namespace kernweave {
namespace {

// A device that is none.
class Elsewhere : public Copy {
 public:
  explicit Elsewhere(SEXP x)
      : numbers_(static_cast<const char*>(DATAPTR_RO(x)), static_cast<const char*>(DATAPTR_RO(x)) + bytes_of(x)) {}
  void fetch(void* to, std::size_t bytes) const override {
    user_check(bytes == numbers_.size(), Fault::no_device, "the device has gone");
    std::copy(numbers_.begin(), numbers_.end(), static_cast<char*>(to));
  }

 private:
  static std::size_t bytes_of(SEXP x) {
    return static_cast<std::size_t>(Rf_xlength(x)) * (TYPEOF(x) == INTSXP ? sizeof(int) : sizeof(double));
  }
  std::vector<char> numbers_;
};

}  // namespace
}  // namespace kernweave

// A vector whose numbers lie on a device that is none; of another length than they have, they cannot be fetched.
// [[Rcpp::export(rng = false)]]
SEXP r_elsewhere(SEXP x, double length) {
  return kernweave::at_border([&]() -> SEXP {
    const Rcpp::Shield<SEXP> made(kernweave::resident_vector(TYPEOF(x), static_cast<R_xlen_t>(length)));
    constexpr int kNoDevice = -1;
    kernweave::resident(made)->copies[kNoDevice] = std::make_unique<kernweave::Elsewhere>(x);
    if (length == static_cast<double>(Rf_xlength(x))) SHALLOW_DUPLICATE_ATTRIB(made, x);
    return made;
  });
}
