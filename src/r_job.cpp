// Conversion of R's lists to a job.
#include "r_job.hpp"

#include "base/error.hpp"

namespace kernweave {
namespace {

Keep keep_named(const std::string& name) {
  if (name == "i") return Keep::i;
  if (name == "j") return Keep::j;
  if (name == "none") return Keep::none;
  internal_check(name == "both", "no axis to keep named ", name);
  return Keep::both;
}

Format format_named(const std::string& name) {
  if (name == "float64") return Format::float64;
  if (name == "float32") return Format::float32;
  internal_check(name == "tf32", "no precision named ", name);
  return Format::tf32;
}

// float32 results are added up in float64 (between tiles); tf32 is a mode of the products alone.
Precision precision_named(const std::string& name) {
  const Format format = format_named(name);
  const Format load = format == Format::tf32 ? Format::float32 : format;
  return {load, format, Format::float64};
}

Results results_named(const std::string& name) {
  if (name == "value") return Results::value;
  internal_check(name == "index" || name == "value_index", "no results named ", name);
  return name == "index" ? Results::index : Results::value_index;
}

// All results as they are, where nothing else is said.
Finish finish_from_r(const Rcpp::List& output, Results all) {
  Finish finish;
  finish.results = all;
  if (!output.containsElementNamed("finish") || Rf_isNull(output["finish"])) return finish;
  const Rcpp::List from = output["finish"];
  const std::string per = from["per"];
  return {results_named(from["results"]), Rcpp::as<double>(from["sign"]), per.find('i') != std::string::npos,
          per.find('j') != std::string::npos, Rcpp::as<int>(from["less"])};
}

}  // namespace

Job job_from_r(const Rcpp::List& outputs, const Rcpp::List& extents, const Rcpp::List& options, Formulas* formulas) {
  Job job;
  for (R_xlen_t k = 0; k < outputs.size(); ++k) {
    const Rcpp::List o = outputs[k];
    Red red;
    internal_check(find_red(o["op"], &red), "no such reduction");
    job.outputs.push_back({red, formulas->read(o["value"]), formulas->read_optional(o["weight"]), keep_named(o["keep"]),
                           Rcpp::as<int>(o["K"]), finish_from_r(o, row(red).results)});
  }
  job.extents = formulas->read_all(extents);
  job.precision = precision_named(options["precision"]);
  job.pairs = Rcpp::as<bool>(options["pairs"]) ? Pairs::restricted : Pairs::all;
  if (options.containsElementNamed("allowed")) job.allowed = formulas->read_optional(options["allowed"]);
  job.rewrite = options["rewrite"];
  job.checks = options["checks"];
  return job;
}

}  // namespace kernweave
