// Chooses back end and variant: asks every candidate through backend.hpp, includes no back end.
#include "schedule/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "expr/parse.hpp"

namespace kernweave {
namespace {

// The fewest points of each axis for which facts are read: an entry is read in about the time of a pair, so reading
// takes less than 2 % of the work.
constexpr long long kFewestPairsOfFact = 64;
// The fewest pairs for which boxes are considered: fewer pairs take some milliseconds.
constexpr double kFewestPairsOfBoxes = 1e7;

std::string names_of(const std::vector<const Backend*>& backends) {
  std::string out;
  for (const Backend* b : backends) out += sentence(out.empty() ? "" : ", ", "\"", b->name(), "\"");
  return out;
}

std::vector<const Backend*> named(const std::string& device, const std::vector<const Backend*>& backends) {
  std::vector<const Backend*> found;
  for (const Backend* b : backends)
    if (device == "auto" ? !b->by_name_only() : device == b->name()) found.push_back(b);
  if (found.empty())
    fail(Fault::no_device, "device \"", device, "\" is not available; this installation has ", names_of(backends),
         ". See kernweave_sitrep()");
  return found;
}

std::string why(const Backend& backend, const Variant& variant, const std::string& device, std::size_t rivals) {
  const char* how = device != "auto" ? "asked for by name" : rivals > 1 ? "likely the fastest" : "the only one here";
  return sentence(backend.name(), " is ", how, "; ", form_name(variant.form), " variant");
}

}  // namespace

std::int64_t kept_rows(Keep keep, const Sizes& sizes) {
  switch (keep) {
    case Keep::i: return sizes.i;
    case Keep::j: return sizes.j;
    case Keep::none: return 1;
    case Keep::both: return sizes.i * sizes.j;
  }
  return 0;
}

namespace {

// Tells whether conditions are checked: each number that is read for a condition must serve enough pairs.
bool worth_knowing(const Sizes& sizes) { return std::min(sizes.i, sizes.j) >= kFewestPairsOfFact; }

// Returns the strain: the share of a condition's bound that the data use; more than 1 if the condition does not hold.
double strain_of(const Variant& variant, std::size_t number, const Findings& findings) {
  constexpr double kTooMuch = 2;
  double strain = 0;
  for (std::size_t k = 0; k < variant.condition.size(); ++k) {
    const Requirement& r = variant.condition[k];
    const double reach = findings.variables[r.variables[0]].reach + findings.variables[r.variables[1]].reach;
    const ValueRange& factor = findings.factors[number][k];
    // If all points coincide, the product does not tell a factor's sign.
    if (r.least >= 0 && !(factor.least >= 0)) return kTooMuch;
    if (!(factor.least * reach >= r.least && factor.most * reach <= r.most)) return kTooMuch;
    strain = std::max({strain, -factor.least * reach / r.most, factor.most * reach / r.most});
  }
  return strain;
}

}  // namespace

Wanted wanted_facts(const Plan& plan, const Sizes& sizes) {
  Wanted wanted{std::vector<bool>(plan.variables.size(), false), std::vector<bool>(plan.variables.size(), false)};
  for (const Variant& variant : plan.variants)
    for (const Requirement& r : variant.condition)
      for (int v : r.variables) wanted.reach[v] = worth_knowing(sizes);
  for (const GatherBound& bound : plan.gathers) wanted.range[bound.rows] = true;
  return wanted;
}

bool boxes_are_worth_a_thought(Boxes boxes, const Sizes& sizes) {
  const bool any = std::min(sizes.i, sizes.j) > 0;
  return any && (boxes == Boxes::always || (boxes == Boxes::trial && sizes.pairs() >= kFewestPairsOfBoxes));
}

bool may_be_two_steps(const Plan& plan, const Sizes& sizes) {
  return plan.stages && std::min(sizes.i, sizes.j) >= 1 && sizes.folded == 0;
}

bool in_two_steps(const Plan& plan, const Sizes& sizes) {
  if (!may_be_two_steps(plan, sizes)) return false;
  const bool separable = plan.stages->separable();
  const std::vector<Output>& sums = plan.stages->sums.variants.back().outputs;
  double numbers = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const double folded = static_cast<double>(sums[k].keep == Keep::i ? sizes.j : sizes.i);
    if (!separable && folded < kFewestPairsOfFact) return false;
    if (!in_place(plan, k))
      numbers += static_cast<double>(kept_rows(sums[k].keep, sizes_of_sums(*plan.stages, sizes))) * sums[k].width;
  }
  const double points = static_cast<double>(sizes.i) + static_cast<double>(sizes.j);
  return numbers * sizeof(double) <= kSharedBytes && (!separable || sizes.pairs() > 4 * points);
}

bool in_place(const Plan& plan, std::size_t k) {
  return plan.stages->second == SecondStep::factors &&
         plan.stages->sums.variants.back().outputs[k].width == plan.variants.back().outputs[k].width;
}

Sizes sizes_of_sums(const Stages& stages, const Sizes& sizes) {
  Sizes of_sums = sizes;
  if (stages.separable()) (stages.sums.variants.back().outputs[0].keep == Keep::i ? of_sums.i : of_sums.j) = 1;
  return of_sums;
}

void check_gathers(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts) {
  for (const GatherBound& bound : plan.gathers) {
    const Variable& from = plan.variables[bound.variable];
    const Variable& by = plan.variables[bound.rows];
    const double rows = static_cast<double>(facts[bound.variable].rows);
    const bool counts = by.source == Source::counter;
    const double extent = static_cast<double>(by.axis == Axis::i ? sizes.i : sizes.j);
    if (extent == 0 || (!counts && facts[bound.rows].rows == 0)) continue;
    const double least = counts ? 1 : facts[bound.rows].least;
    const double largest = counts ? extent : facts[bound.rows].largest;
    const bool inside = least >= 1 && largest <= rows && (counts || facts[bound.rows].finite);
    user_check(inside, Fault::index, "row numbers from ", show_number(least), " to ", show_number(largest),
               " (or NA) point outside `", from.name, "`, which has ", show_number(rows), " rows");
  }
}

namespace {

struct Candidate {
  const Backend* backend;
  std::size_t variant;
  double seconds;
  double strain;
  Boxes boxes = Boxes::none;
};

// Lists the variants that facts allow on the back ends that can run them, the fastest first. Starts no device.
std::vector<Candidate> ranked(const Plan& plan, const Sizes& sizes, const Findings& findings,
                              const std::vector<const Backend*>& able, std::string* refusal) {
  std::vector<Candidate> found;
  for (std::size_t v = 0; v < plan.variants.size(); ++v) {
    const Variant& variant = plan.variants[v];
    const bool unknown = !variant.condition.empty() && !worth_knowing(sizes);
    const double strain = unknown ? 0 : strain_of(variant, v, findings);
    if (unknown || strain > 1) continue;
    for (const Backend* backend : able) {
      const Verdict verdict = backend->can(plan, variant, sizes);
      if (!verdict.yes) {
        *refusal = sentence(backend->name(), ": ", verdict.why);
        continue;
      }
      const double seconds = backend->seconds(plan, variant, sizes, findings.home);
      found.push_back({backend, v, seconds, strain});
      if (findings.growths.empty() || !verdict_of(findings.growths[v]).yes) continue;
      const double boxed = backend->seconds_by_boxes(plan, variant, sizes, findings.growths[v]);
      const bool told = findings.boxes == Boxes::always && std::isfinite(boxed);
      if (told || boxed < seconds) found.push_back({backend, v, told ? 0 : boxed, strain, findings.boxes});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  return found;
}

// Returns the part of the reason that concerns boxes; empty if boxes were not considered.
std::string by_boxes(const Candidate& c, const Findings& findings) {
  if (c.boxes != Boxes::none) return ", by boxes of points";
  if (findings.growths.empty() || verdict_of(findings.growths[c.variant]).yes) return "";
  const std::string no = verdict_of(findings.growths[c.variant]).why;
  return no.empty() ? "" : ", all pairs: " + no;
}

Schedule scheduled(const Plan& plan, const Candidate& c, const Sizes& sizes, const Findings& findings) {
  Schedule schedule;
  Decision& d = schedule.decision;
  d.backend = c.backend->name();
  d.model = c.backend->model();
  d.variant = static_cast<int>(c.variant);
  d.sizes = sizes;
  d.loops = c.backend->loops(plan.variants[c.variant]);
  d.loops.boxes = c.boxes;
  d.strain = c.strain;
  if (c.boxes != Boxes::none) d.growths = findings.growths[c.variant];
  d.centres = findings.centres;
  schedule.reason = "a candidate";
  schedule.seconds = c.seconds;
  return schedule;
}

}  // namespace

Schedule choose(const Plan& plan, const Sizes& sizes, const Findings& findings, const std::string& device,
                const std::vector<const Backend*>& backends) {
  const std::vector<const Backend*> able = named(device, backends);
  std::string refusal, missed;
  const Backend* missing = nullptr;
  for (const Candidate& c : ranked(plan, sizes, findings, able, &refusal)) {
    const Variant& variant = plan.variants[c.variant];
    const Verdict ready = c.backend->ready_for(plan, variant, sizes);
    if (ready.yes) {
      Schedule found = scheduled(plan, c, sizes, findings);
      found.reason = why(*c.backend, variant, device, able.size()) + by_boxes(c, findings);
      if (c.backend != missing) found.missed = missed;
      return found;
    }
    missing = c.backend;
    missed = ready.why;
  }
  user_check(missed.empty(), Fault::no_device, "device \"", device, "\" cannot be used: ", missed);
  fail(Fault::unsupported, "no device here can run this yet (", refusal, ")");
}

std::vector<Schedule> candidates(const Plan& plan, const Sizes& sizes, const Findings& findings,
                                 const std::string& device, const std::vector<const Backend*>& backends) {
  std::string refusal;
  std::vector<Schedule> all;
  for (const Candidate& c : ranked(plan, sizes, findings, named(device, backends), &refusal)) {
    const Variant& variant = plan.variants[c.variant];
    if (!c.backend->ready_for(plan, variant, sizes).yes) continue;
    all.push_back(scheduled(plan, c, sizes, findings));
    if (c.boxes != Boxes::none) continue;
    for (const Loops& loops : c.backend->other_loops(plan, variant, sizes)) {
      all.push_back(scheduled(plan, c, sizes, findings));
      all.back().decision.loops = loops;
    }
  }
  return all;
}

namespace {

// Tells whether the variables relative to a centre, and no others, have a centre of their width.
bool centres_fit(const Plan& plan, const Decision& decision) {
  const auto fits = [](const Variable& v, const std::vector<double>& centre) {
    const bool pairwise = v.axis == Axis::pair || v.axis == Axis::pair_swapped;
    return centre.size() == (v.centre == Variable::kAsItIs ? 0 : pairwise ? 1 : static_cast<std::size_t>(v.width));
  };
  return std::equal(plan.variables.begin(), plan.variables.end(), decision.centres.begin(), decision.centres.end(),
                    fits);
}

}  // namespace

void check_decision(const Plan& plan, const Sizes& sizes, const Decision& decision, const std::string& device,
                    const std::vector<const Backend*>& backends) {
  const std::vector<const Backend*> able = named(device, backends);
  const auto at =
      std::find_if(able.begin(), able.end(), [&](const Backend* b) { return decision.backend == b->name(); });
  user_check(at != able.end(), Fault::no_device, "a decision for device \"", decision.backend,
             "\", where device is \"", device, "\"");
  const std::array<std::int64_t, 3> loops{decision.loops.rows, decision.loops.columns, decision.loops.split};
  const auto sensible = [](std::int64_t points) { return points >= 0 && points < std::int64_t{1} << 31; };
  const bool fits = decision.variant >= 0 && decision.variant < static_cast<int>(plan.variants.size()) &&
                    decision.sizes == sizes && centres_fit(plan, decision) && decision.steps == 1 &&
                    decision.others.empty() && std::all_of(loops.begin(), loops.end(), sensible);
  user_check(fits, Fault::input, "a decision of another formula, or for other numbers of points");
  const Variant& variant = plan.variants[static_cast<std::size_t>(decision.variant)];
  for (const Verdict& verdict : {(*at)->can(plan, variant, sizes), (*at)->ready_for(plan, variant, sizes)})
    user_check(verdict.yes, Fault::no_device, "device \"", decision.backend, "\" cannot be used: ", verdict.why);
  user_check(decision.model == (*at)->model(), Fault::no_device, "a decision for ", decision.model,
             ", and this device is ", (*at)->model());
}

}  // namespace kernweave
