// Windows into the engine for the tests: facts, reductions folded in pieces, and vectors that lie elsewhere.
#include "border.hpp"

#include <algorithm>

#include "cpu/cpu.hpp"
#include "lanes/isa.hpp"
#include "cpu/pass.hpp"
#include "cpu/show.hpp"
#include "cuda/cuda.hpp"
#include "cuda/script_layout.hpp"
#include "cuda/show.hpp"
#include "cuda/window.hpp"
#include "cuda/write_source.hpp"
#include "device/device.hpp"
#include "execute/backends.hpp"
#include "device/nvrtc.hpp"
#include "expr/table.hpp"
#include "expr/trend.hpp"
#include "plan/lower.hpp"
#include "plan/show.hpp"
#include "r_job.hpp"
#include "r_plan.hpp"
#include "r_resident.hpp"
#include "schedule/cost.hpp"
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

// How the value of an operation changes with each argument, these being from `least` to `most`.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> r_test_trend(std::string op, std::vector<double> least, std::vector<double> most) {
  return kernweave::at_border([&] {
    kernweave::Op found{};
    kernweave::internal_check(kernweave::find_op(op, &found), "no operation ", op);
    std::vector<kernweave::Interval> args;
    for (std::size_t k = 0; k < least.size(); ++k) args.emplace_back(least[k], most[k]);
    std::vector<std::string> trends;
    for (const kernweave::Trend trend : kernweave::trends_of(found, args).trends) {
      const char* const names[] = {"uneven", "flat", "grows", "falls"};
      trends.push_back(names[static_cast<int>(trend)]);
    }
    return trends;
  });
}

// The interval of an element-wise operation's values, the arguments being from `least` to `most`; and its values: of
// each row of numbers, those of its arguments.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_test_interval(std::string op, std::vector<double> least, std::vector<double> most,
                           Rcpp::NumericMatrix args) {
  return kernweave::at_border([&] {
    kernweave::Op found{};
    kernweave::internal_check(kernweave::find_op(op, &found), "no operation ", op);
    std::vector<kernweave::Interval> in;
    for (std::size_t k = 0; k < least.size(); ++k) in.emplace_back(least[k], most[k]);
    const kernweave::Interval out = kernweave::bounded(found)(in.data());
    Rcpp::NumericVector values(args.nrow());
    for (int r = 0; r < args.nrow(); ++r) {
      std::vector<kernweave::Lane> numbers;
      for (int k = 0; k < args.ncol(); ++k) numbers.emplace_back(args(r, k));
      values[r] = kernweave::row(found).value(numbers.data()).v;
    }
    return Rcpp::List::create(Rcpp::_["least"] = out.least, Rcpp::_["most"] = out.most, Rcpp::_["nan"] = out.nan,
                              Rcpp::_["whole"] = out.whole, Rcpp::_["values"] = values);
  });
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

}  // namespace
}  // namespace kernweave

// A vector whose numbers lie on a device that is none; of another length than they have, they cannot be fetched.
// Where it `tells`, it can be asked about points.
// [[Rcpp::export(rng = false)]]
SEXP r_elsewhere(SEXP x, double length, bool tells) {
  return kernweave::at_border([&]() -> SEXP {
    const Rcpp::Shield<SEXP> made(kernweave::resident_vector(TYPEOF(x), static_cast<R_xlen_t>(length)));
    constexpr int kNoDevice = -1;
    kernweave::resident(made)->copies[kNoDevice] = std::make_unique<kernweave::Elsewhere>(x, tells);
    if (length == static_cast<double>(Rf_xlength(x))) SHALLOW_DUPLICATE_ATTRIB(made, x);
    return made;
  });
}

// Bytes that have been fetched from such vectors.
// [[Rcpp::export(rng = false)]]
double r_elsewhere_fetched() { return kernweave::Elsewhere::fetched; }

namespace kernweave {
namespace {

// What each engine makes of a plan, at so many points along both axes.
std::string cpu_text(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  const Verdict verdict = cpu_backend().can(plan, variant, sizes);
  if (!verdict.yes) return "not on the CPU: " + verdict.why + '\n';
  const bool narrow = in_float32(plan, std::max(sizes.i, sizes.j));
  const TileKernel& kernel = tile_kernel(narrow);
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
    cuda::Pass pass = cuda::make_pass(plan, variant, group, sizes.i, sizes.j, 0, cuda::PassMode::interpreted);
    cuda::Interpretation script;
    const Verdict verdict = cuda::interpret(&pass, &script);
    text += verdict.yes ? cuda::show(script) : "not interpreted: " + verdict.why + '\n';
  }
  return text;
}

// What a back end says of a variant: its price, or why it cannot.
std::string price_text(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  std::string text;
  for (const Backend* backend : {&cpu_backend(), &cuda_backend("gpu")}) {
    const Verdict verdict = backend->can(plan, variant, sizes);
    text += verdict.yes
                ? sentence(backend->name(), " ", backend->seconds(plan, variant, sizes, Home::device), " seconds\n")
                : sentence(backend->name(), " cannot: ", verdict.why, "\n");
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
    std::string cpu, cuda, script, price;
    const auto add = [&](const kernweave::Plan& plan) {
      cpu += kernweave::for_all_variants(plan, sizes, kernweave::cpu_text);
      cuda += kernweave::for_all_variants(plan, sizes, kernweave::source_text);
      script += kernweave::for_all_variants(plan, sizes, kernweave::script_text);
      price += kernweave::for_all_variants(plan, sizes, kernweave::price_text);
    };
    add(whole);
    if (whole.stages) {
      add(whole.stages->sums);
      for (const kernweave::Plan& after : whole.stages->after) add(after);
    }
    return Rcpp::CharacterVector::create(Rcpp::_["plan"] = kernweave::show(whole), Rcpp::_["cpu"] = cpu,
                                         Rcpp::_["cuda"] = cuda, Rcpp::_["script"] = script, Rcpp::_["price"] = price);
  });
}

// The CUDA sources of a plan's passes, for every variant: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_cuda_sources(SEXP plan, double lanes) {
  return kernweave::at_border([&] {
    const kernweave::Plan& p = kernweave::plan_behind(plan)->plan;
    const std::int64_t points = static_cast<std::int64_t>(lanes);
    Rcpp::CharacterVector sources;
    for (std::size_t v = 0; v < p.variants.size(); ++v) {
      kernweave::Decision decision;
      decision.variant = static_cast<int>(v);
      decision.sizes = {points, points, {}};
      for (const std::string& source : kernweave::backend_named("gpu").sources(p, decision)) sources.push_back(source);
    }
    return sources;
  });
}

// The windows in which a GPU of so many multiprocessors would go through a plan's first pass, and what all of it would
// take: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_cuda_windows(SEXP plan, double lanes, double sweep, double processors, double bytes) {
  return kernweave::at_border([&] {
    const kernweave::Plan& p = kernweave::plan_behind(plan)->plan;
    const kernweave::Variant& variant = p.variants.back();
    const std::int64_t m = static_cast<std::int64_t>(lanes), n = static_cast<std::int64_t>(sweep);
    const kernweave::cuda::Pass pass =
        kernweave::cuda::make_pass(p, variant, kernweave::output_groups(variant)[0], m, n);
    const kernweave::cuda::Cut cut = kernweave::cuda::cut(
        pass, m, n, {static_cast<int>(processors), kernweave::kGpuResidentBlocks}, lanes * sweep * 1e-12);
    kernweave::cuda::Needs needs = kernweave::cuda::needs_of(pass);
    needs.lane += 8;
    needs.sweep = kernweave::cuda::bytes_of_column(pass);
    const kernweave::cuda::Windows w = kernweave::cuda::fitting(needs, pass, cut, {0, m}, n, bytes);
    return Rcpp::NumericVector::create(
        Rcpp::_["lanes"] = static_cast<double>(w.lanes), Rcpp::_["sweep"] = static_cast<double>(w.sweep),
        Rcpp::_["chunk"] = static_cast<double>(w.chunk), Rcpp::_["whole"] = w.whole ? 1.0 : 0.0,
        Rcpp::_["block"] = pass.shape.block_rows, Rcpp::_["split"] = static_cast<double>(cut.together()),
        Rcpp::_["takes"] = needs.all(w.lanes, w.sweep) + needs.state * static_cast<double>(w.chunk),
        Rcpp::_["all"] = needs.all(m, n));
  });
}

// What the interpreter makes of a plan's passes: why it does not take one ("" if it does), the rows that its
// instructions call, and the kernel that goes through its pairs.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame r_cuda_scripts(SEXP plan, double points) {
  return kernweave::at_border([&] {
    const kernweave::Plan& p = kernweave::plan_behind(plan)->plan;
    const std::int64_t n = static_cast<std::int64_t>(points);
    Rcpp::CharacterVector why, rows, sweeps;
    Rcpp::NumericVector threads, bytes;
    for (const kernweave::Variant& variant : p.variants)
      for (const kernweave::OutputGroup& group : kernweave::output_groups(variant)) {
        kernweave::cuda::Pass pass =
            kernweave::cuda::make_pass(p, variant, group, n, n, 0, kernweave::cuda::PassMode::interpreted);
        kernweave::cuda::Interpretation found;
        why.push_back(kernweave::cuda::interpret(&pass, &found).why);
        rows.push_back(kernweave::cuda::rows_called(found));
        sweeps.push_back(found.sweep);
        threads.push_back(pass.shape.threads);
        bytes.push_back(static_cast<double>(pass.shared_bytes()));
      }
    return Rcpp::DataFrame::create(Rcpp::_["why"] = why, Rcpp::_["rows"] = rows, Rcpp::_["sweep"] = sweeps,
                                   Rcpp::_["threads"] = threads, Rcpp::_["bytes"] = bytes);
  });
}

// Of each form of a plan that the CPU engine takes, or of the sums that it begins with, and each sweep over the pairs:
// is there a loop that was compiled for just these pairs?
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame r_cpu_loops(SEXP plan, double points) {
  return kernweave::at_border([&] {
    const kernweave::Plan& all = kernweave::plan_behind(plan)->plan;
    const kernweave::Plan& p = all.stages && !all.stages->separable ? all.stages->sums : all;
    const std::int64_t n = static_cast<std::int64_t>(points);
    const bool narrow = kernweave::in_float32(p, n);
    const kernweave::TileKernel& kernel = kernweave::tile_kernel(narrow);
    Rcpp::CharacterVector forms;
    Rcpp::LogicalVector whole, screened;
    const kernweave::FusedLoopList loops = kernel.fused();
    for (const kernweave::Variant& variant : p.variants) {
      if (!kernweave::cpu_backend().can(p, variant, {n, n}).yes) continue;
      for (const kernweave::Pass& pass : kernweave::compile(p, variant, {n, n}, kernel, narrow ? 4 : 8)) {
        forms.push_back(kernweave::form_name(variant.form));
        whole.push_back(pass.run_pairs != kernel.run);
        screened.push_back(std::any_of(loops.at, loops.at + loops.count,
                                       [&](const kernweave::FusedLoop& w) { return w.screened == pass.run_pairs; }));
      }
    }
    return Rcpp::DataFrame::create(Rcpp::_["form"] = forms, Rcpp::_["whole"] = whole, Rcpp::_["screened"] = screened);
  });
}

// Compiles a source for a compute capability (90 for 9.0); needs NVRTC, but no GPU.
// [[Rcpp::export(rng = false)]]
Rcpp::RawVector r_cuda_compile(std::string source, int capability) {
  return kernweave::at_border([&] {
    const std::string code = kernweave::device::compile(source, capability);
    return Rcpp::RawVector(code.begin(), code.end());
  });
}
