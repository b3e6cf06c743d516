// Plans, and what each engine makes of them.
#include "window.hpp"

#include <algorithm>

#include "cpu/pass.hpp"
#include "cpu/write_pass.hpp"
#include "cuda/cut.hpp"
#include "cuda/limits.hpp"
#include "cuda/script_layout.hpp"
#include "cuda/write_source.hpp"
#include "execute/kept_plan.hpp"
#include "plan/lower.hpp"
#include "r_call.hpp"

namespace kernweave::windows {
namespace {

// Shows the form that each engine gives a plan's variant, at `sizes` points along both axes.
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

// Shows each back end's price of a variant, or the reason why the back end cannot run the variant.
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

// Joins the texts of all variants. A variant that cannot be made gives the reason.
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

// Shows a reduction's plan, and the form that each engine gives the plan at n x n points, as text: for tools/replay.R.
Rcpp::CharacterVector replay(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options, double n) {
  Formulas formulas;
  options["outputs"] = outputs, options["extents"] = extents, options["allowed"] = R_NilValue;
  const Plan whole = lower(job_from_r(options, &formulas), nullptr);
  const std::int64_t points = static_cast<std::int64_t>(n);
  const Sizes sizes{points, points, {}};
  std::string cpu, cuda, script, price;
  const auto add = [&](const Plan& plan) {
    cpu += for_all_variants(plan, sizes, cpu_text);
    cuda += for_all_variants(plan, sizes, source_text);
    script += for_all_variants(plan, sizes, script_text);
    price += for_all_variants(plan, sizes, price_text);
  };
  add(whole);
  if (whole.stages) {
    add(whole.stages->sums);
    for (const Plan& after : whole.stages->after) add(after);
  }
  return Rcpp::CharacterVector::create(Rcpp::_["plan"] = show(whole), Rcpp::_["cpu"] = cpu, Rcpp::_["cuda"] = cuda,
                                       Rcpp::_["script"] = script, Rcpp::_["price"] = price);
}

// The CUDA sources of a plan's passes, for every variant.
Rcpp::CharacterVector cuda_sources(SEXP plan, double lanes) {
  const Plan& p = plan_behind(plan)->plan;
  const std::int64_t points = static_cast<std::int64_t>(lanes);
  Rcpp::CharacterVector sources;
  for (std::size_t v = 0; v < p.variants.size(); ++v) {
    Decision decision;
    decision.variant = static_cast<int>(v);
    decision.sizes = {points, points, {}};
    for (const std::string& source : backend_named("gpu").sources(p, decision)) sources.push_back(source);
  }
  return sources;
}

// The windows in which a GPU of so many multiprocessors would go through a plan's first pass, and what all of it would
// take.
Rcpp::NumericVector cuda_windows(SEXP plan, double lanes, double sweep, double processors, double bytes) {
  const Plan& p = plan_behind(plan)->plan;
  const Variant& variant = p.variants.back();
  const std::int64_t m = static_cast<std::int64_t>(lanes), n = static_cast<std::int64_t>(sweep);
  const cuda::Pass pass = cuda::make_pass(p, variant, output_groups(variant)[0], m, n);
  const cuda::SweepCut cut =
      cuda::cut(pass, m, n, {static_cast<int>(processors), kGpuResidentBlocks}, lanes * sweep * 1e-12);
  cuda::Needs needs = cuda::needs_of(pass);
  needs.lane += 8;
  needs.sweep = cuda::bytes_of_column(pass);
  const cuda::Windows w = cuda::fitting(needs, pass, cut, {0, m}, n, bytes);
  return Rcpp::NumericVector::create(
      Rcpp::_["lanes"] = static_cast<double>(w.lanes), Rcpp::_["sweep"] = static_cast<double>(w.sweep),
      Rcpp::_["chunk"] = static_cast<double>(w.chunk), Rcpp::_["whole"] = w.whole ? 1.0 : 0.0,
      Rcpp::_["block"] = pass.shape.block_rows, Rcpp::_["split"] = static_cast<double>(cut.together()),
      Rcpp::_["takes"] = needs.all(w.lanes, w.sweep) + needs.state * static_cast<double>(w.chunk),
      Rcpp::_["all"] = needs.all(m, n));
}

// Shows the interpreter's form of a plan's passes: the reason why a pass is not taken ("" if it is), the rows that its
// instructions call, and the kernel that goes through its pairs.
Rcpp::DataFrame cuda_scripts(SEXP plan, double points) {
  const Plan& p = plan_behind(plan)->plan;
  const std::int64_t n = static_cast<std::int64_t>(points);
  Rcpp::CharacterVector why, rows, sweeps;
  Rcpp::NumericVector threads, bytes;
  for (const Variant& variant : p.variants)
    for (const OutputGroup& group : output_groups(variant)) {
      cuda::Pass pass = cuda::make_pass(p, variant, group, n, n, 0, cuda::PassMode::interpreted);
      cuda::Interpretation found;
      why.push_back(cuda::interpret(&pass, &found).why);
      rows.push_back(cuda::rows_called(found));
      sweeps.push_back(found.sweep);
      threads.push_back(pass.shape.threads);
      bytes.push_back(static_cast<double>(pass.shared_bytes()));
    }
  return Rcpp::DataFrame::create(Rcpp::_["why"] = why, Rcpp::_["rows"] = rows, Rcpp::_["sweep"] = sweeps,
                                 Rcpp::_["threads"] = threads, Rcpp::_["bytes"] = bytes);
}

// Tells for each form of a plan that the CPU engine takes, or of the sums that the plan begins with, and each sweep
// over the pairs, whether a loop was compiled for just these pairs.
Rcpp::DataFrame cpu_loops(SEXP plan, double points) {
  const Plan& all = plan_behind(plan)->plan;
  const Plan& p = all.stages && !all.stages->separable() ? all.stages->sums : all;
  const std::int64_t n = static_cast<std::int64_t>(points);
  const bool narrow = in_float32(p, n);
  const TileKernel& kernel = tile_kernel(narrow);
  Rcpp::CharacterVector forms;
  Rcpp::LogicalVector whole, screened;
  const FusedLoopList loops = kernel.fused();
  for (const Variant& variant : p.variants) {
    if (!cpu_backend().can(p, variant, {n, n}).yes) continue;
    for (const Pass& pass : compile(p, variant, {n, n}, kernel, narrow ? 4 : 8)) {
      forms.push_back(form_name(variant.form));
      whole.push_back(pass.run_pairs != kernel.run);
      screened.push_back(std::any_of(loops.at, loops.at + loops.count,
                                     [&](const FusedLoop& w) { return w.screened == pass.run_pairs; }));
    }
  }
  return Rcpp::DataFrame::create(Rcpp::_["form"] = forms, Rcpp::_["whole"] = whole, Rcpp::_["screened"] = screened);
}

const WindowTable of_plans({window<replay>("replay"), window<cuda_sources>("cuda_sources"),
                        window<cuda_windows>("cuda_windows"), window<cuda_scripts>("cuda_scripts"),
                        window<cpu_loops>("cpu_loops")});

}  // namespace
}  // namespace kernweave::windows
