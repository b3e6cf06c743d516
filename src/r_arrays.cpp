// Finds the places of arrays, reads them there, makes R vectors of results; verbs of numbers, reductions, scans.
#include "r_arrays.hpp"

#include <cmath>
#include <map>

#include "arrays/cuda/verbs.hpp"
#include "device/driver.hpp"

namespace kernweave {
namespace {

// Returns the number of the device on which a vector lies; -1 if it lies on none.
int device_number(SEXP vector) {
  const Kept* const kept = resident(vector);
  return !kept || kept->copies.empty() ? -1 : kept->copies.begin()->first;
}

// Returns null if the verbs were not compiled at installation, or if the device does not carry them out.
const arrays::Verbs* verbs_of(int number) {
  static std::map<int, std::unique_ptr<arrays::Verbs>> found;
  if (number < 0 || !device::is_usable()) return nullptr;
  const auto at = found.find(number);
  if (at != found.end()) return at->second.get();
  return found.emplace(number, arrays::cuda::verbs_on(device::open(number))).first->second.get();
}

bool on_gpu(SEXP x) {
  return (TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP) && !Rf_isObject(x) && verbs_of(device_number(x));
}

bool all_on_gpu(const std::vector<SEXP>& vectors, Index most) {
  for (const SEXP x : vectors) most = on_gpu(x) ? most - Rf_xlength(x) : -1;
  return !vectors.empty() && most >= 0;
}

// Prepares an array that the CPU is about to read. Numbers on a device come to R, with one message in all. A changed
// file is noticed here, where C++ unwinds.
void read_here(SEXP x) {
  const Kept* const kept = resident(x);
  if (!kept && ALTREP(x) && TYPEOF(x) == REALSXP) numbers_on_host(x);
  if (kept && !kept->copies.empty()) own_function("wherever")(x);
}

// Returns a vector's numbers as a column: logicals and integers, doubles, or integer64.
Column column_at(SEXP x, const void* at) {
  Column column;
  if (TYPEOF(x) != REALSXP) column.integers = static_cast<const int*>(at);
  else if (Rf_inherits(x, "integer64")) column.longs = static_cast<const std::int64_t*>(at);
  else column.doubles = static_cast<const double*>(at);
  column.count = static_cast<Index>(Rf_xlength(x));
  return column;
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

// --- on a device ----------------------------------------------------------------------------------------------------

device::Block OnDevice::sent(SEXP vector) const {
  const void* const numbers = numbers_unwinding(vector);
  const std::size_t bytes = static_cast<std::size_t>(Rf_xlength(vector)) * bytes_of_item(vector);
  gpu_->enter();
  device::Block block = gpu_->allocate(bytes, "the data");
  gpu_->upload(block.at(), numbers, bytes);
  return block;
}

Whole OnDevice::whole(SEXP vector) {
  const View view{nullptr, Rf_xlength(vector), 1, resident(vector)};
  if (has_copy(view, *gpu_)) return column_at(vector, device::address<void>(kept_copy(view, gpu_)));
  sent_.push_back(sent(vector));
  return column_at(vector, at<void>(sent_.back()));
}

SEXP OnDevice::vector(SEXPTYPE type, device::Block block, Index count) const {
  if (count == 0) return Rf_allocVector(type, 0);
  const Shield<SEXP> made(resident_vector(type, static_cast<R_xlen_t>(count)));
  resident(made)->copies[gpu_->number()] = device::copy_in(gpu_, std::move(block));
  return made;
}

// --- calls ----------------------------------------------------------------------------------------------------------

const void* Call::first(SEXP x) {
  if (there_) {
    const Whole whole = there_->whole(x);
    return whole.integers ? static_cast<const void*>(whole.integers) : whole.doubles;
  }
  read_here(x);
  return DATAPTR_RO(x);
}

Column Call::column(SEXP x) { return Rf_isNull(x) ? Column() : column_at(x, first(x)); }

Whole Call::of_type(SEXP x, SEXPTYPE type) {
  const Column numbers = column(x);
  if (type != REALSXP || !numbers.integers) return numbers;
  void* to;
  held_.push_back(fresh(REALSXP, numbers.count, &to));
  verbs_.to_doubles(numbers.integers, numbers.count, numbers_at(REALSXP, to));
  return {nullptr, static_cast<const double*>(to), numbers.count};
}

arrays::Items Call::items(SEXP x) {
  const Column numbers = column(x);
  return {numbers.integers, numbers.doubles, {}, NA_INTEGER, NA_REAL};
}

SEXP Call::lent(SEXP plan, const char* name, SEXP x) {
  if (!there_ || Rf_isNull(x) || on_gpu(x)) return x;
  Environment kept = List(plan)["kept"];
  const std::string key = std::string(name) + "_there";
  if (!kept.exists(key))
    kept[key] = RObject(there_->vector(static_cast<SEXPTYPE>(TYPEOF(x)), there_->sent(x), Rf_xlength(x)));
  return kept[key];
}

// Returns item numbers, segment after segment, ascending in each; NULL if items lie in this order. Computed once.
SEXP Call::order_of(const List& plan) const {
  const SEXP codes = plan["codes"];
  if (Rf_isNull(codes)) return R_NilValue;
  Environment kept = plan["kept"];
  if (!kept.exists("order") || Rf_isNull(kept["order"])) {
    const Index n = Rf_xlength(codes);
    const SEXPTYPE type = n <= kMostInt ? INTSXP : REALSXP;
    const RObject order = Rf_allocVector(type, static_cast<R_xlen_t>(n));
    const SEXP offsets = plan["offsets"];
    host_.group_order(INTEGER_RO(codes), n, column_at(offsets, DATAPTR_RO(offsets)),
                      numbers_at(type, kernweave::numbers_of(order)));
    kept["order"] = order;
  }
  return kept["order"];
}

arrays::Segments Call::segments(SEXP plan, bool by_codes) {
  const List parts(plan);
  const SEXP offsets = parts["offsets"], codes = parts["codes"];
  arrays::Segments found;
  const Index count = Rf_xlength(offsets) - 1;
  found.offsets = part(plan, "offsets", offsets);
  found.items = there_ ? static_cast<Index>(number_at(offsets, count)) : found.offsets[count];
  if (by_codes && !there_ && 4 * count <= found.items && !Rf_isNull(codes)) found.codes = INTEGER_RO(codes);
  else found.order = part(plan, "order", order_of(parts));
  return found;
}

// Reads a part of a plan; a part that lies elsewhere is brought to the call's arrays without a message.
Whole Call::part(SEXP plan, const char* name, SEXP x) {
  if (Rf_isNull(x)) return {};
  return there_ ? there_->whole(lent(plan, name, x)) : column_at(x, DATAPTR_RO(x));
}

// Makes a vector of which every item will be written.
RObject Call::fresh(SEXPTYPE type, Index count, void** at) const {
  if (there_) {
    device::Block block = there_->gpu().allocate(static_cast<std::size_t>(count) * (type == REALSXP ? 8 : 4),
                                                 "the result");
    *at = OnDevice::at<void>(block);
    return there_->vector(type, std::move(block), count);
  }
  const RObject made = Rf_allocVector(type, static_cast<R_xlen_t>(count));
  *at = kernweave::numbers_of(made);
  arrays::want_large_pages(*at, static_cast<std::size_t>(count) * bytes_of_item(made));
  return made;
}

void* Call::room(const char* name, SEXPTYPE type, Index count) {
  void* to;
  tell(name, fresh(type, count, &to));
  return to;
}

Numbers Call::numbers_at(SEXPTYPE type, void* at) {
  if (type == REALSXP) return {nullptr, static_cast<double*>(at), NA_INTEGER, NA_REAL};
  return {static_cast<int*>(at), nullptr, NA_INTEGER, NA_REAL};
}

Numbers Call::numbers_of(const char* name, SEXPTYPE type, Index count) {
  return numbers_at(type, room(name, type, count));
}

Numbers Call::numbers(const char* name, Index most, Index count) {
  return numbers_of(name, most <= kMostInt ? INTSXP : REALSXP, count);
}

void* Call::items(Index count) { return room(nullptr, type_, count); }

void Call::adopt(const char* name, device::Block block, Index count, Kind kind) {
  tell(name, there_->vector(kind == Kind::items ? type_ : INTSXP, std::move(block), count));
}

void Call::given(const char* name) { tell(name, TYPEOF(like_) == LGLSXP ? Rf_coerceVector(like_, INTSXP) : like_); }

void* Call::copy_of(const char* name, SEXP x, SEXPTYPE type, bool own) {
  if (own && !there_ && TYPEOF(x) == static_cast<int>(type)) {
    tell(name, x);
    return kernweave::numbers_of(x);
  }
  void* const to = room(name, type, Rf_xlength(x));
  const bool doubles = type == REALSXP && TYPEOF(x) != REALSXP;
  if (doubles) verbs_.to_doubles(column(x).integers, Rf_xlength(x), numbers_at(type, to));
  else verbs_.copy(first(x), Rf_xlength(x) * static_cast<Index>(bytes_of_item(x)), to);
  SHALLOW_DUPLICATE_ATTRIB(made_.back().second, x);
  return to;
}

arrays::Moved Call::moved_to(SEXP x, bool places, void* to) {
  const int bytes = static_cast<int>(bytes_of_item(made_.back().second));
  return {places ? nullptr : first(x), static_cast<Index>(Rf_xlength(x)), bytes, to};
}

SEXP Call::value() const {
  if (made_.empty()) return R_NilValue;
  if (made_.size() == 1 && !made_[0].first) return made_[0].second;
  const Shield<SEXP> all(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(made_.size())));
  const Shield<SEXP> names(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(made_.size())));
  R_xlen_t k = 0;
  for (const auto& [name, made] : made_) {
    SET_STRING_ELT(names, k, Rf_mkChar(name));
    SET_VECTOR_ELT(all, k++, made);
  }
  Rf_setAttrib(all, R_NamesSymbol, names);
  return all;
}

SEXP carried_out(const std::vector<SEXP>& arrays, int threads, const std::function<void(Call&)>& work, Index most) {
  const SEXP like = arrays.empty() ? R_NilValue : arrays[0];
  int type = TYPEOF(like);  // logicals stay logicals if all arrays are logical
  for (const SEXP x : arrays) type = std::max(type, static_cast<int>(TYPEOF(x)));
  const arrays::HostVerbs host(workers_from_r(threads));
  const auto value_of = [&](OnDevice* there, const arrays::Verbs& verbs) {
    Call call(there, verbs, host, like, static_cast<SEXPTYPE>(type));
    work(call);
    return RObject(call.value());
  };
  if (all_on_gpu(arrays, most)) {
    const int number = device_number(like);
    try {
      return with_second_try([&] {
        OnDevice there(&device::open(number));
        return waited_for(there, [&](OnDevice& here) { return value_of(&here, *verbs_of(number)); });
      });
    } catch (const arrays::Declined&) {
    }
  }
  return value_of(nullptr, host);
}

Index first_unsorted(SEXP x, bool strictly, int threads) {
  Index at = 0;
  carried_out({x}, threads, [&](Call& here) { at = here.verbs().first_unsorted(here.column(x), strictly); });
  return at;
}

// --- numbers and offsets --------------------------------------------------------------------------------------------

// Sets attributes of a vector that has no other owner; R itself would copy the vector first.
// [[Rcpp::export(rng = false)]]
SEXP r_dress(SEXP x, List marks) {
  if (marks.size() == 0) return x;
  const CharacterVector names = marks.names();
  for (R_xlen_t k = 0; k < marks.size(); ++k) Rf_setAttrib(x, Rf_install(names[k]), marks[k]);
  return x;
}

// Returns the place of the first number that is not whole or is out of range, 0 if none, and whether it is whole.
// [[Rcpp::export(rng = false)]]
List r_first_not_whole(SEXP x, double least, double most) {
  Index at = 0;
  const auto look = [&](Call& here) { at = here.verbs().first_not_whole(here.column(x), least, most); };
  carried_out({x}, 1, look, kAnyLength);
  const double number = at > 0 ? number_at(x, at - 1) : 0;
  return List::create(_["at"] = static_cast<double>(at), _["whole"] = number == std::trunc(number));
}

// Counts the items before each object, and all items, from the count of each object. Counts are integers if they fit.
// [[Rcpp::export(rng = false)]]
SEXP r_offsets(SEXP counts, int threads) {
  return carried_out({counts}, threads, [&](Call& here) {
    const Index total = here.verbs().offsets(here.column(counts), here);
    here.tell("total", wrap(static_cast<double>(total)));
  });
}

// Returns whole numbers as integers, NaN as NA; `overflow`: some number fits no integer, and becomes NA too.
// [[Rcpp::export(rng = false)]]
SEXP r_as_integers(SEXP x) {
  const auto convert = [&](Call& here) {
    const Column numbers = here.column(x);
    const Numbers to = here.numbers("values", 0, numbers.count);
    here.tell("overflow", wrap(here.verbs().to_integers(numbers.doubles, numbers.count, to)));
  };
  return carried_out({x}, 1, convert, kAnyLength);
}

// --- reductions and scans -------------------------------------------------------------------------------------------

namespace {

arrays::Request request_from_r(const std::string& op, bool skip, SEXP init) {
  arrays::Request request{arrays::operator_named(op), skip, !Rf_isNull(init), 0.0};
  if (request.begins) request.init = as<double>(init);
  return request;
}

}  // namespace

// Returns numbers by segment, then by result of the operator, then by column. On a device the result `stays` there, or
// comes to R.
// [[Rcpp::export(rng = false)]]
SEXP r_reduce(SEXP x, int columns, std::string op, SEXP segments, bool skip, SEXP init, bool stays, int threads) {
  const arrays::Request request = request_from_r(op, skip, init);
  const auto reduce = [&](Call& here) {
    const arrays::Items items = here.items(x);
    const arrays::Segments plan = here.segments(segments, true);
    const Index n = plan.count() * arrays::results_of(request.op) * columns;
    here.verbs().reduce(request, items, columns, plan, here.numbers_of(nullptr, REALSXP, n).doubles);
  };
  const RObject found = carried_out({x}, threads, reduce, kAnyLength);
  if (stays || !resident(found)) return found;
  numbers_on_host(found);
  return Rf_duplicate(found);
}

// Returns running results of each column, of type integer, logical or double; `overflow`: an integer is too large.
// [[Rcpp::export(rng = false)]]
SEXP r_scan(SEXP x, int columns, std::string op, SEXP segments, bool exclusive, SEXP init, std::string type,
            int threads) {
  const arrays::Request request = request_from_r(op, false, init);
  const SEXPTYPE kind = type == "double" ? REALSXP : type == "logical" ? LGLSXP : INTSXP;
  const auto scan = [&](Call& here) {
    const arrays::Items items = here.items(x);
    const Numbers out = here.numbers_of("values", kind, Rf_xlength(x));
    const bool overflow =
        here.verbs().scan(request, exclusive, items, columns, here.segments(segments), out);
    here.tell("overflow", wrap(overflow));
  };
  return carried_out({x}, threads, scan, kAnyLength);
}

}  // namespace kernweave
