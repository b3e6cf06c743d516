// R's way to results: prepare a plan, run it on data, explain it.
#include "border.hpp"
#include "cpu/pass.hpp"
#include "cpu/cpu.hpp"
#include "cpu/isa.hpp"
#include "cuda/script_layout.hpp"
#include "cuda/window.hpp"
#include "cuda/write_source.hpp"
#include "device/nvrtc.hpp"
#include "plan/lower.hpp"
#include "r_device.hpp"
#include "r_job.hpp"
#include "r_run.hpp"
#include "schedule/cost.hpp"

#include <algorithm>
#include <functional>

namespace kernweave {
namespace {

// Plans live behind external pointers with this tag; what has another, or nothing behind it, is no plan.
SEXP plan_tag() { return Rf_install("kernweave_plan"); }

using Shared = std::shared_ptr<Prepared>;

Prepared& behind(SEXP pointer) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == plan_tag();
  internal_check(ours && R_ExternalPtrAddr(pointer) != nullptr, "this is no plan of this session");
  return **static_cast<Shared*>(R_ExternalPtrAddr(pointer));
}

std::string show_ref(const Ref& ref, const Plan& plan, const Program& program) {
  switch (ref.from) {
    case Ref::From::number: return sentence(program.numbers[ref.index]);
    case Ref::From::variable: return plan.variables[ref.index].name;
    case Ref::From::slot: break;
  }
  return sentence("s", ref.index);
}

Rcpp::DataFrame steps_to_r(const Plan& plan, const Program& program) {
  Rcpp::CharacterVector when, what, slot;
  Rcpp::IntegerVector width;
  for (const Step& step : program.steps) {
    std::string call = std::string(row(step.op).fn) + "(";
    for (std::size_t k = 0; k < step.in.size(); ++k) call += (k ? ", " : "") + show_ref(step.in[k], plan, program);
    for (int a : step.attributes) call += sentence(", ", a);
    when.push_back(region_name(step.region));
    slot.push_back(sentence("s", step.out));
    what.push_back(call + ")");
    width.push_back(step.width);
  }
  return Rcpp::DataFrame::create(Rcpp::_["when"] = when, Rcpp::_["slot"] = slot, Rcpp::_["step"] = what,
                                 Rcpp::_["width"] = width, Rcpp::_["stringsAsFactors"] = false);
}

// 64 bits of the plan key, enough to tell plans apart at a glance.
std::string short_key(const Plan& plan) {
  char text[20];
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(plan_key(plan)));
  return text;
}

Rcpp::DataFrame trace_to_r(const Trace& trace) {
  Rcpp::CharacterVector pass, outcome;
  Rcpp::NumericVector time;
  for (const Trace::Entry& e : trace.entries) {
    pass.push_back(e.pass);
    time.push_back(e.microseconds);
    outcome.push_back(e.outcome);
  }
  return Rcpp::DataFrame::create(Rcpp::_["pass"] = pass, Rcpp::_["microseconds"] = time, Rcpp::_["outcome"] = outcome,
                                 Rcpp::_["stringsAsFactors"] = false);
}

// What a GPU is given for a variant's passes.
Rcpp::CharacterVector cuda_of(const Plan& plan, const Variant& variant, const Sizes& sizes, double strain) {
  Rcpp::CharacterVector sources;
  for (const OutputGroup& group : output_groups(variant)) {
    const cuda::Extents n = cuda::extents_of(group, sizes);
    sources.push_back(cuda::source_of(cuda::make_pass(plan, variant, group, n.lanes, n.sweep, strain)));
  }
  return sources;
}

SEXP schedule_to_r(const Schedule& s, double working_bytes) {
  const Sizes& sizes = s.sizes;
  return Rcpp::List::create(Rcpp::_["device"] = s.backend->name(), Rcpp::_["why"] = s.reason,
                            Rcpp::_["M"] = static_cast<double>(sizes.i), Rcpp::_["N"] = static_cast<double>(sizes.j),
                            Rcpp::_["seconds"] = s.seconds, Rcpp::_["bytes"] = working_bytes);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_prepare(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const Rcpp::XPtr<kernweave::Shared> plan(new kernweave::Shared(kernweave::prepared(job)), true,
                                             kernweave::plan_tag());
    return Rcpp::List::create(Rcpp::_["plan"] = plan, Rcpp::_["operands"] = formulas.operands());
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_run(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, std::string device,
                 int threads) {
  return kernweave::at_border([&] {
    return kernweave::run_plan(&kernweave::behind(plan), {data, operands}, extents, device, threads);
  });
}

// The CUDA sources of a plan's passes, for every variant: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_cuda_sources(SEXP plan, double lanes) {
  return kernweave::at_border([&] {
    const kernweave::Plan& p = kernweave::behind(plan).plan;
    const std::int64_t points = static_cast<std::int64_t>(lanes);
    Rcpp::CharacterVector sources;
    for (const kernweave::Variant& variant : p.variants)
      for (const char* source : kernweave::cuda_of(p, variant, {points, points, {}}, 0)) sources.push_back(source);
    return sources;
  });
}

// The windows in which a GPU of so many multiprocessors would go through a plan's first pass, and what all of it would
// take: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_cuda_windows(SEXP plan, double lanes, double sweep, double processors, double bytes) {
  return kernweave::at_border([&] {
    const kernweave::Plan& p = kernweave::behind(plan).plan;
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
    const kernweave::Plan& p = kernweave::behind(plan).plan;
    const std::int64_t n = static_cast<std::int64_t>(points);
    Rcpp::CharacterVector why, rows, sweeps;
    Rcpp::NumericVector threads, bytes;
    for (const kernweave::Variant& variant : p.variants)
      for (const kernweave::OutputGroup& group : kernweave::output_groups(variant)) {
        kernweave::cuda::Pass pass =
            kernweave::cuda::make_pass(p, variant, group, n, n, 0, kernweave::cuda::Way::interpreted);
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
    const kernweave::Plan& all = kernweave::behind(plan).plan;
    const kernweave::Plan& p = all.stages && !all.stages->separable ? all.stages->sums : all;
    const std::int64_t n = static_cast<std::int64_t>(points);
    const bool narrow = kernweave::in_float32(p);
    const kernweave::TileKernel& kernel =
        narrow ? kernweave::instruction_set().float32 : kernweave::instruction_set().float64;
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

// `data` is NULL for a formula with placeholders: then there is no schedule yet. With `cuda`, what a GPU is given for
// the variant that is scheduled.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_explain(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options, SEXP data, Rcpp::NumericVector sizes,
                     std::string device, bool cuda) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    kernweave::Trace trace;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const kernweave::Plan plan = kernweave::lower(job, &trace);
    const kernweave::Plan* ran = &plan;
    std::size_t variant = plan.variants.size() - 1;
    Rcpp::RObject schedule = R_NilValue, sources = R_NilValue;
    kernweave::Schedule chosen;
    if (!Rf_isNull(data)) {
      double working_bytes = 0;
      chosen =
          kernweave::schedule_of(plan, {Rcpp::List(data), formulas.operands()}, sizes, device, &ran, &working_bytes);
      variant = static_cast<std::size_t>(chosen.variant);
      schedule = kernweave::schedule_to_r(chosen, working_bytes);
    }
    const kernweave::Program& program = ran->variants[variant].program;
    constexpr std::int64_t kMany = 100000;  // points, where they are not known
    if (cuda)
      sources = kernweave::cuda_of(*ran, ran->variants[variant],
                                   chosen.backend ? chosen.sizes : kernweave::Sizes{kMany, kMany, {}}, chosen.strain);
    return Rcpp::List::create(
        Rcpp::_["passes"] = kernweave::trace_to_r(trace), Rcpp::_["steps"] = kernweave::steps_to_r(*ran, program),
        Rcpp::_["key"] = kernweave::short_key(plan), Rcpp::_["schedule"] = schedule, Rcpp::_["cuda"] = sources);
  });
}

// Adds the rows of `values` into a matrix of n rows at `rows`, in order: the same bits every time.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_scatter_add(Rcpp::NumericMatrix values, Rcpp::NumericVector rows, double n) {
  return kernweave::at_border([&] {
    kernweave::internal_check(rows.size() == values.nrow(), "row numbers for ", values.nrow(), " rows: ", rows.size());
    for (double row : rows) kernweave::internal_check(row >= 1 && row <= n, "no row ", row, " among ", n);
    Rcpp::NumericMatrix out(static_cast<int>(n), values.ncol());
    for (int c = 0; c < values.ncol(); ++c)
      for (R_xlen_t k = 0; k < rows.size(); ++k)
        out(static_cast<int>(rows[k]) - 1, c) += values(static_cast<int>(k), c);
    return out;
  });
}
