// Finds where arrays lie and lends them to a device for a call; verbs of numbers, offsets, reductions, scans.
#include "r_arrays.hpp"

#include <cmath>
#include <map>

#include "arrays/pieces.hpp"
#include "arrays/reduce.hpp"
#include "device/driver.hpp"

namespace kernweave {
namespace {
// The device on which a vector lies, by its number; -1 for none.
int device_number(SEXP vector) {
  const Kept* const kept = resident(vector);
  return !kept || kept->copies.empty() ? -1 : kept->copies.begin()->first;
}

bool carries_out_verbs(int number) {
  static std::map<int, bool> found;
  const arrays::cuda::Verbs* const verbs = arrays::cuda::compiled_verbs();
  if (!verbs || device::opened_by_parent()) return false;
  const auto at = found.find(number);
  return at != found.end() ? at->second : found.emplace(number, verbs->ready(device::open(number))).first->second;
}

}  // namespace

Workers workers_from_r(int threads) {
  return {allowed_threads(threads), [](double) { poll_interrupt(); }};
}

double number_at(SEXP x, Index k) {
  double number = 0;
  Rcpp::unwindProtect([&] {
    if (TYPEOF(x) == REALSXP) number = REAL_ELT(x, k);
    else number = INTEGER_ELT(x, k) == NA_INTEGER ? NA_REAL : INTEGER_ELT(x, k);
    return R_NilValue;
  });
  return number;
}

bool on_gpu(SEXP x) {
  const int number = device_number(x);
  return number >= 0 && (TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP) && !Rf_isObject(x) && carries_out_verbs(number);
}

bool has_attributes(SEXP x) { return !RObject(x).attributeNames().empty(); }

bool plain_on_gpu(SEXP x) { return on_gpu(x) && !has_attributes(x) && Rf_xlength(x) <= kMostInt; }

bool both_on_gpu(SEXP x, SEXP y) {
  return TYPEOF(x) == TYPEOF(y) && plain_on_gpu(x) && plain_on_gpu(y) && Rf_xlength(x) + Rf_xlength(y) <= kMostInt;
}

void read_here(SEXP x) {
  const Kept* const kept = resident(x);
  if (!kept && ALTREP(x) && TYPEOF(x) == REALSXP) numbers_on_host(x);
  if (!kept || kept->copies.empty()) return;
  own_function("wherever")(x);
}

OnDevice::OnDevice(SEXP vector) : gpu_(&device::open(device_number(vector))) {}

device::Pointer OnDevice::place_of(SEXP vector) {
  const View view{nullptr, Rf_xlength(vector), 1, resident(vector)};
  if (has_copy(view, *gpu_)) return kept_copy(view, gpu_);
  const void* const numbers = numbers_unwinding(vector);
  const std::size_t bytes = static_cast<std::size_t>(Rf_xlength(vector)) * bytes_of_item(vector);
  gpu_->enter();
  sent_.push_back(gpu_->allocate(bytes, "the data"));
  gpu_->upload(sent_.back().at(), numbers, bytes);
  return sent_.back().at();
}

Whole OnDevice::whole(SEXP vector) {
  if (Rf_isNull(vector)) return {};
  const device::Pointer at = place_of(vector);
  const bool real = TYPEOF(vector) == REALSXP;
  return {real ? nullptr : device::address<const int>(at), real ? device::address<const double>(at) : nullptr,
          static_cast<Index>(Rf_xlength(vector))};
}

arrays::Items OnDevice::items(SEXP vector, SEXP order) {
  const Whole numbers = whole(vector);
  return {numbers.integers, numbers.doubles, whole(order), NA_INTEGER, NA_REAL};
}

SEXP OnDevice::vector(SEXPTYPE type, device::Block block, Index count) const {
  if (count == 0) return Rf_allocVector(type, 0);
  const Shield<SEXP> made(resident_vector(type, static_cast<R_xlen_t>(count)));
  resident(made)->copies[gpu_->number()] = device::copy_in(gpu_, std::move(block));
  return made;
}

SEXP OnDevice::copied(SEXP x) {
  return moved(x, Rf_xlength(x), [&](const Moved& m) {
    verbs().copy_numbers(gpu(), m.from, static_cast<std::size_t>(m.count * m.bytes), m.to);
  });
}

SEXP sent_to(SEXP x, SEXP like) {
  return on_device_of(like, [&](OnDevice& here) { return here.copied(x); });
}

SEXP taken_on_gpu(SEXP x, SEXP order) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Whole rows = here.whole(order), items = here.whole(x);
    return here.moved(x, rows.count, [&](const Moved& m) {
      here.verbs().take_items(here.gpu(), items, rows.integers, rows.count, m.to);
    });
  });
}

SEXP order_on_gpu(const List& columns, const LogicalVector& decreasing, SEXP offsets) {
  return on_device_of(columns[0], [&](OnDevice& here) -> SEXP {
    arrays::cuda::OrderOf task;
    for (R_xlen_t c = 0; c < columns.size(); ++c) {
      task.columns.push_back(here.whole(columns[c]));
      task.decreasing.push_back(decreasing[c % decreasing.size()]);
    }
    task.offsets = here.whole(offsets);
    return here.integers(here.verbs().order_of(here.gpu(), task), task.columns[0].count);
  });
}

Index first_unsorted_on_gpu(SEXP x, bool strictly) {
  return on_device_of(x,
                      [&](OnDevice& here) { return here.verbs().first_unsorted(here.gpu(), here.whole(x), strictly); });
}

Index first_not_whole_on_gpu(SEXP x, double least, double most) {
  return on_device_of(
      x, [&](OnDevice& here) { return here.verbs().first_not_whole(here.gpu(), here.whole(x), least, most); });
}

// --- numbers and offsets --------------------------------------------------------------------------------------------

// Sets attributes of a vector that nobody else has, where R would copy it first.
// [[Rcpp::export(rng = false)]]
SEXP r_dress(SEXP x, List marks) {
  if (marks.size() == 0) return x;
  const CharacterVector names = marks.names();
  for (R_xlen_t k = 0; k < marks.size(); ++k) Rf_setAttrib(x, Rf_install(names[k]), marks[k]);
  return x;
}

namespace {

// The place of the first number that is not whole, or out of range; 0 for none.
Index first_not_whole(SEXP x, double least, double most) {
  const auto among = [&](auto values, auto wrong) {
    const auto end = values + Rf_xlength(x), at = std::find_if(values, end, wrong);
    return at == end ? Index{0} : at - values + 1;
  };
  if (TYPEOF(x) == INTSXP) return among(INTEGER_RO(x), [&](int v) { return v == NA_INTEGER || v < least || v > most; });
  constexpr double kLargest = 0x1p53;
  return among(REAL_RO(x), [&](double v) { return !(v >= least && v <= most && v <= kLargest && v == std::trunc(v)); });
}

}  // namespace

// The place of the first number that is not whole, or out of range, and whether that is whole; 0 for none.
// [[Rcpp::export(rng = false)]]
List r_first_not_whole(SEXP x, double least, double most) {
  const Index at = on_gpu(x) ? first_not_whole_on_gpu(x, least, most) : first_not_whole(x, least, most);
  const double number = at > 0 ? number_at(x, at - 1) : 0;
  return List::create(_["at"] = static_cast<double>(at), _["whole"] = number == std::trunc(number));
}

// Counts the items before each object, of objects with so many items, and the items of all. Integers while they can
// be.
// [[Rcpp::export(rng = false)]]
List r_offsets(SEXP counts, int threads) {
  if (plain_on_gpu(counts))
    return on_device_of(counts, [&](OnDevice& here) {
      const Whole whole = here.whole(counts);
      const device::Block long_ones = here.room_for<Index>(whole.count + 1);
      auto* const longs = here.at<Index>(long_ones);
      const Index total = here.verbs().offsets_of(here.gpu(), whole, longs);
      user_check(total <= kMostInt, Fault::unsupported, "`counts` add up to ", total,
                 ", which is more than the verbs on a GPU count");
      const RObject offsets = here.filled<int>(
          whole.count + 1, [&](int* out) { here.verbs().narrow(here.gpu(), longs, whole.count + 1, out); });
      return List::create(_["offsets"] = offsets, _["total"] = static_cast<double>(total));
    });
  read_here(counts);
  const Whole whole = whole_from_r(counts);
  const Workers workers = workers_from_r(threads);
  Index total = 0;
  with_array(whole, [&](auto values) { total = arrays::total_of(values, whole.count, workers); });
  const RObject offsets = with_numbers(total, whole.count + 1, [&](auto to, auto) {
    with_array(whole, [&](auto values) { arrays::write_offsets(values, whole.count, to, workers); });
  });
  return List::create(_["offsets"] = offsets, _["total"] = static_cast<double>(total));
}

// Whole numbers as integers, with NA for NaN; `overflow` where one is none: NA too.
// [[Rcpp::export(rng = false)]]
List r_as_integers(SEXP x) {
  const R_xlen_t n = Rf_xlength(x);
  bool overflow = false;
  if (on_gpu(x)) {
    const RObject values = on_device_of(x, [&](OnDevice& here) {
      return here.filled<int>(n, [&](int* out) {
        overflow = here.verbs().to_integers(here.gpu(), here.whole(x).doubles, n, NA_INTEGER, out);
      });
    });
    return List::create(_["values"] = values, _["overflow"] = overflow);
  }
  const double* const from = REAL_RO(x);
  IntegerVector out = no_init(n);
  for (R_xlen_t k = 0; k < n; ++k) {
    const bool fits = std::abs(from[k]) <= kMostInt;
    out[k] = fits ? static_cast<int>(from[k]) : NA_INTEGER;
    overflow = overflow || (!fits && from[k] == from[k]);
  }
  return List::create(_["values"] = out, _["overflow"] = overflow);
}

// Places from 1, integers where they can be; NA for NaN.
// [[Rcpp::export(rng = false)]]
SEXP r_as_places(SEXP x) {
  const List whole = r_as_integers(x);
  if (!as<bool>(whole["overflow"])) return whole["values"];
  NumericVector out = Rcpp::clone(NumericVector(x));
  std::replace_if(
      out.begin(), out.end(), [](double place) { return place != place; }, NA_REAL);
  return out;
}

// --- reductions and scans -------------------------------------------------------------------------------------------

namespace {

// The columns of a matrix, or a vector as one.
std::vector<arrays::Items> columns_of(SEXP x, SEXP order, Index rows, Index columns) {
  std::vector<arrays::Items> all(static_cast<std::size_t>(columns),
                                 {nullptr, nullptr, whole_from_r(order), NA_INTEGER, NA_REAL});
  for (Index c = 0; c < columns; ++c) {
    arrays::Items& items = all[static_cast<std::size_t>(c)];
    if (TYPEOF(x) == REALSXP) items.doubles = REAL_RO(x) + c * rows;
    else items.integers = static_cast<const int*>(DATAPTR_RO(x)) + c * rows;
  }
  return all;
}

arrays::Request request_from_r(const std::string& op, bool skip, SEXP init) {
  arrays::Request request{arrays::operator_named(op), skip, !Rf_isNull(init), 0.0};
  if (request.begins) request.init = as<double>(init);
  return request;
}

SEXP reduced_on_gpu(SEXP x, int columns, const arrays::Request& request, const SegmentPlan::There& plan, bool stays) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Whole whole = here.whole(plan.offsets);
    const Index rows = Rf_xlength(x) / std::max(columns, 1);
    const Index n = (whole.count - 1) * arrays::results_of(request.op) * columns;
    device::Block out = here.room_for<double>(n);
    const auto reduce = request.skip ? here.verbs().reduce_known : here.verbs().reduce_all;
    reduce(here.gpu(), request, here.items(x, plan.order), rows, columns, whole, here.at<double>(out));
    if (stays) return here.vector(REALSXP, std::move(out), n);
    NumericVector found = no_init(n);
    here.gpu().download(found.begin(), out.at(), static_cast<std::size_t>(n) * sizeof(double));
    return found;
  });
}

// Running results, or NULL where an integer was too large: what comes after it is known to the CPU.
SEXP scanned_on_gpu(SEXP x, int columns, const arrays::Request& request, const SegmentPlan::There& plan, bool exclusive,
                    SEXPTYPE kind) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Index n = Rf_xlength(x), rows = n / std::max(columns, 1);
    device::Block out = kind == REALSXP ? here.room_for<double>(n) : here.room_for<int>(n);
    arrays::Running to;
    to.missing = NA_INTEGER;
    if (kind == REALSXP) to.doubles = here.at<double>(out);
    else to.integers = here.at<int>(out);
    const bool overflow = here.verbs().scan_all(here.gpu(), request, exclusive, here.items(x, plan.order), rows,
                                                columns, here.whole(plan.offsets), to);
    return overflow ? R_NilValue : here.vector(kind, std::move(out), n);
  });
}

}  // namespace

// Numbers of each segment, then of each result of the operator, then of each column. Items are taken as they come where
// groups are few enough for a table of them, else in their order. On a device the result `stays` there, or comes to R.
// [[Rcpp::export(rng = false)]]
SEXP r_reduce(SEXP x, int columns, std::string op, SEXP segments, bool skip, SEXP init, bool stays, int threads) {
  const arrays::Request request = request_from_r(op, skip, init);
  const Workers workers = workers_from_r(threads);
  SegmentPlan plan(segments, workers);
  if (on_gpu(x)) return reduced_on_gpu(x, columns, request, plan.there(x), stays);
  read_here(x);
  const bool few = 4 * plan.segments() <= plan.items();
  const SEXP codes = few ? plan.codes() : R_NilValue, order = few ? R_NilValue : plan.order();
  const Whole whole = whole_from_r(plan.offsets());
  const auto items = columns_of(x, order, plan.items(), columns);
  const Index per_column = plan.segments() * arrays::results_of(request.op);
  NumericVector out = no_init(per_column * columns);
  if (Rf_isNull(codes)) arrays::reduce(request, items, whole, workers, out.begin());
  else arrays::reduce_groups(request, items, INTEGER_RO(codes), whole, workers, out.begin());
  return out;
}

// Running results of each column, of type integer, logical or double; `overflow` where an integer was too large.
// [[Rcpp::export(rng = false)]]
List r_scan(SEXP x, int columns, std::string op, SEXP segments, bool exclusive, SEXP init, std::string type,
            int threads) {
  const arrays::Request request = request_from_r(op, false, init);
  const Workers workers = workers_from_r(threads);
  const SEXPTYPE kind = type == "double" ? REALSXP : type == "logical" ? LGLSXP : INTSXP;
  SegmentPlan plan(segments, workers);
  if (on_gpu(x)) {
    const RObject found = scanned_on_gpu(x, columns, request, plan.there(x), exclusive, kind);
    if (!found.isNULL()) return List::create(_["values"] = found, _["overflow"] = false);
  }
  read_here(x);
  const Whole whole = whole_from_r(plan.offsets());
  const Index rows = plan.items();
  const Shield<SEXP> out(Rf_allocVector(kind, static_cast<R_xlen_t>(rows * columns)));
  arrays::Running to;
  to.missing = NA_INTEGER;
  bool overflow = false;
  Index column = 0;
  for (const arrays::Items& items : columns_of(x, plan.order(), rows, columns)) {
    if (kind == REALSXP) to.doubles = REAL(out) + column * rows;
    else to.integers = (kind == LGLSXP ? LOGICAL(out) : INTEGER(out)) + column * rows;
    overflow |= arrays::scan(request, exclusive, items, whole, workers, to);
    ++column;
  }
  return List::create(_["values"] = RObject(out), _["overflow"] = overflow);
}

}  // namespace kernweave
