// Windows into the engine for the tests: facts, reductions folded in pieces, and vectors that lie elsewhere.
#include "border.hpp"
#include "r_job.hpp"
#include "r_resident.hpp"

#include <algorithm>

#include "cpu/cpu.hpp"
#include "cpu/isa.hpp"
#include "cpu/show.hpp"
#include "cuda/show.hpp"
#include "cuda/write_source.hpp"
#include "device/device.hpp"
#include "expr/table.hpp"
#include "plan/lower.hpp"
#include "plan/show.hpp"
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
  return kernweave::at_border([&] { return static_cast<double>(kernweave::device::open(0).free_memory()); });
}

// Takes memory of a device away until it is collected.
// [[Rcpp::export(rng = false)]]
SEXP r_gpu_hold(double bytes) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::device::Device& gpu = kernweave::device::open(0);
    return Rcpp::XPtr<kernweave::device::Block>(
        new kernweave::device::Block(gpu.allocate(static_cast<std::size_t>(bytes), "a test")));
  });
}

// GPUs that a machine with one shall seem to have.
// [[Rcpp::export(rng = false)]]
void r_gpu_pretend(int count) { kernweave::device::pretend(count); }

// Gives back to the driver what the device's pool has.
// [[Rcpp::export(rng = false)]]
void r_gpu_trim() {
  kernweave::at_border([&] { kernweave::device::open(0).trim(); });
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

namespace kernweave {
namespace {

// What each engine makes of a plan, at so many points along both axes.
std::string cpu_text(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  const Verdict verdict = cpu_backend().can(plan, variant, sizes);
  if (!verdict.yes) return "not on the CPU: " + verdict.why + '\n';
  const bool narrow = in_float32(plan);
  const TileKernel& kernel = narrow ? instruction_set().float32 : instruction_set().float64;
  std::string text;
  for (const Pass& pass : compile(plan, variant, sizes, kernel, narrow ? 4 : 8)) text += show(pass, kernel);
  return text;
}

std::string source_text(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  std::string text;
  for (const OutputGroup& group : output_groups(variant))
    text += cuda::source_of(cuda::make_pass(plan, variant, group, sizes.i, sizes.j));
  return text;
}

std::string script_text(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  std::string text;
  for (const OutputGroup& group : output_groups(variant)) {
    cuda::Pass pass = cuda::make_pass(plan, variant, group, sizes.i, sizes.j, 0, cuda::Way::interpreted);
    cuda::Interpretation script;
    const Verdict verdict = cuda::interpret(&pass, &script);
    text += verdict.yes ? cuda::show(script) : "not interpreted: " + verdict.why + '\n';
  }
  return text;
}

// Of all variants; what cannot be made says why.
template <class Text>
std::string for_all_variants(const Plan& plan, const Sizes& sizes, Text text) {
  std::string all;
  for (const Variant& variant : plan.variants) try {
      all += std::string(form_name(variant.form)) + '\n' + text(plan, variant, sizes);
    } catch (const Failure& failure) {
      all += failure.message + '\n';
    }
  return all;
}

}  // namespace
}  // namespace kernweave

// What a reduction's plan consists of, and what each engine makes of it at n x n points, as text: for tools/replay.R.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_replay(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options, double n) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::Plan whole =
        kernweave::lower(kernweave::job_from_r(outputs, extents, options, &formulas), nullptr);
    const std::int64_t points = static_cast<std::int64_t>(n);
    const kernweave::Sizes sizes{points, points, {}};
    std::string cpu, cuda, script;
    const auto add = [&](const kernweave::Plan& plan) {
      cpu += kernweave::for_all_variants(plan, sizes, kernweave::cpu_text);
      cuda += kernweave::for_all_variants(plan, sizes, kernweave::source_text);
      script += kernweave::for_all_variants(plan, sizes, kernweave::script_text);
    };
    add(whole);
    if (whole.stages) {
      add(whole.stages->sums);
      for (const kernweave::Plan& after : whole.stages->after) add(after);
    }
    return Rcpp::CharacterVector::create(Rcpp::_["plan"] = kernweave::show(whole), Rcpp::_["cpu"] = cpu,
                                         Rcpp::_["cuda"] = cuda, Rcpp::_["script"] = script);
  });
}
