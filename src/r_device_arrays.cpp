// R's way to the verbs for arrays on a device: numbers, segments, reductions, scans, moves.
#include "r_device_arrays.hpp"
#include <map>
#include "device/probe.hpp"

namespace kernweave {
namespace {

std::size_t bytes_of(SEXP vector) { return TYPEOF(vector) == REALSXP ? sizeof(double) : sizeof(int); }

const void* numbers_in_r(SEXP vector) {
  const void* numbers = nullptr;
  Rcpp::unwindProtect([&] {
    numbers = DATAPTR_RO(vector);
    return R_NilValue;
  });
  return numbers;
}

bool carries_out_verbs(int number) {
  static std::map<int, bool> found;
  const arrays::cuda::Verbs* const verbs = arrays::cuda::compiled_verbs();
  if (!verbs || device::opened_by_parent()) return false;
  const auto at = found.find(number);
  return at != found.end() ? at->second : found.emplace(number, verbs->ready(device::open(number))).first->second;
}

}  // namespace

int device_number(SEXP vector) {
  const Kept* const kept = resident(vector);
  if (!kept || kept->copies.empty()) return -1;
  return kept->copies.begin()->first;
}

OnDevice::OnDevice(SEXP vector) : gpu_(&device::open(device_number(vector))) {}

device::Pointer OnDevice::place_of(SEXP vector) {
  const View view{nullptr, Rf_xlength(vector), 1, resident(vector)};
  if (has_copy(view, *gpu_)) return kept_copy(view, gpu_);
  const void* const numbers = numbers_in_r(vector);
  const std::size_t bytes = static_cast<std::size_t>(Rf_xlength(vector)) * bytes_of(vector);
  gpu_->enter();
  sent_.push_back(gpu_->allocate(bytes, "the data"));
  gpu_->upload(sent_.back().at(), numbers, bytes);
  return sent_.back().at();
}

arrays::Whole OnDevice::whole(SEXP vector) {
  if (Rf_isNull(vector)) return {};
  const device::Pointer at = place_of(vector);
  const bool real = TYPEOF(vector) == REALSXP;
  return {real ? nullptr : device::address<const int>(at), real ? device::address<const double>(at) : nullptr,
          static_cast<Index>(Rf_xlength(vector))};
}

arrays::Items OnDevice::items(SEXP vector, SEXP order) {
  const arrays::Whole numbers = whole(vector);
  return {numbers.integers, numbers.doubles, whole(order), NA_INTEGER, NA_REAL};
}

SEXP OnDevice::vector(SEXPTYPE type, device::Block block, Index count) const {
  if (count == 0) return Rf_allocVector(type, 0);
  const Rcpp::Shield<SEXP> made(resident_vector(type, static_cast<R_xlen_t>(count)));
  resident(made)->copies[gpu_->number()] = device::copy_in(gpu_, std::move(block));
  return made;
}

namespace {

void* address_of(const device::Block& block) { return device::address<void>(block.at()); }

arrays::cuda::Moved moved(const arrays::Whole& x, const device::Block& to) {
  return {x.integers ? static_cast<const void*>(x.integers) : x.doubles, x.count, x.integers ? 4 : 8, address_of(to)};
}

// A vector of the type of `x` for so many items; work(what moves) fills it.
template <class Work>
SEXP moved_to(OnDevice& here, SEXP x, Index count, Work work) {
  const arrays::Whole items = here.whole(x);
  device::Block out = here.gpu().allocate(static_cast<std::size_t>(count) * bytes_of(x), "the result");
  work(moved(items, out));
  return here.vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(out), count);
}

SEXP integers_from(OnDevice& here, arrays::cuda::Made made) {
  return here.vector(INTSXP, std::move(made.block), made.count);
}

}  // namespace
}  // namespace kernweave

// Do the numbers of a vector lie on a device that carries out the verbs?
// [[Rcpp::export(rng = false)]]
bool r_lies_there(SEXP x) {
  const int number = kernweave::device_number(x);
  return number >= 0 && kernweave::at_border([&] { return kernweave::carries_out_verbs(number); });
}

// The same numbers on the device of another vector.
// [[Rcpp::export(rng = false)]]
SEXP r_send_there(SEXP x, SEXP like) {
  return kernweave::on_device_of(like, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole numbers = here.whole(x);
    return kernweave::moved_to(here, x, numbers.count, [&](const kernweave::arrays::cuda::Moved& m) {
      here.verbs().copy_numbers(here.gpu(), m.from, static_cast<std::size_t>(m.count * m.bytes), m.to);
    });
  });
}

// Sets attributes of a vector that nobody else has, where R would copy it first.
// [[Rcpp::export(rng = false)]]
SEXP r_dress(SEXP x, Rcpp::List marks) {
  if (marks.size() == 0) return x;
  const Rcpp::CharacterVector names = marks.names();
  for (R_xlen_t k = 0; k < marks.size(); ++k) Rf_setAttrib(x, Rf_install(names[k]), marks[k]);
  return x;
}

// [[Rcpp::export(rng = false)]]
double r_first_not_whole_there(SEXP x, double least, double most) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    return static_cast<double>(here.verbs().first_not_whole(here.gpu(), here.whole(x), least, most));
  });
}

// [[Rcpp::export(rng = false)]]
double r_first_unsorted_there(SEXP x, bool strictly) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    return static_cast<double>(here.verbs().first_unsorted(here.gpu(), here.whole(x), strictly));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_as_integers_there(SEXP x) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    const kernweave::Index n = Rf_xlength(x);
    kernweave::device::Block out = here.room_for<int>(n);
    const bool overflow = here.verbs().to_integers(here.gpu(), here.whole(x).doubles, n, NA_INTEGER, here.at<int>(out));
    const Rcpp::RObject values = here.vector(INTSXP, std::move(out), n);
    return Rcpp::List::create(Rcpp::_["values"] = values, Rcpp::_["overflow"] = overflow);
  });
}

// Integers as doubles, on the device of another vector.
// [[Rcpp::export(rng = false)]]
SEXP r_as_doubles_there(SEXP x, SEXP like) {
  return kernweave::on_device_of(like, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole numbers = here.whole(x);
    kernweave::device::Block out = here.room_for<double>(numbers.count);
    here.verbs().to_doubles(here.gpu(), numbers.integers, numbers.count, NA_INTEGER, NA_REAL, here.at<double>(out));
    return here.vector(REALSXP, std::move(out), numbers.count);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_take_there(SEXP x, SEXP order) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole rows = here.whole(order), items = here.whole(x);
    return kernweave::moved_to(here, x, rows.count, [&](const kernweave::arrays::cuda::Moved& m) {
      here.verbs().take_items(here.gpu(), items, rows.integers, rows.count, m.to);
    });
  });
}

// Offsets of objects with so many items, and how many there are in all.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_offsets_there(SEXP counts) {
  return kernweave::on_device_of(counts, [&](kernweave::OnDevice& here) {
    const kernweave::arrays::Whole whole = here.whole(counts);
    const kernweave::device::Block long_ones = here.room_for<kernweave::Index>(whole.count + 1);
    auto* const longs = here.at<kernweave::Index>(long_ones);
    const kernweave::Index total = here.verbs().offsets_of(here.gpu(), whole, longs);
    kernweave::user_check(total <= kernweave::kMostInt, kernweave::Fault::unsupported, "`counts` add up to ", total,
                          ", which is more than the verbs on a GPU count");
    kernweave::device::Block out = here.room_for<int>(whole.count + 1);
    here.verbs().narrow(here.gpu(), longs, whole.count + 1, here.at<int>(out));
    const Rcpp::RObject offsets = here.vector(INTSXP, std::move(out), whole.count + 1);
    return Rcpp::List::create(Rcpp::_["offsets"] = offsets, Rcpp::_["total"] = static_cast<double>(total));
  });
}

// As r_reduce(), without groups by codes. `stays`: does the result?
// [[Rcpp::export(rng = false)]]
SEXP r_reduce_there(SEXP x, int columns, std::string op, SEXP offsets, SEXP order, bool skip, SEXP init, bool stays) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    kernweave::arrays::Request request{kernweave::arrays::operator_named(op), skip, !Rf_isNull(init), 0.0};
    if (request.begins) request.init = Rcpp::as<double>(init);
    const kernweave::arrays::Whole whole = here.whole(offsets);
    const kernweave::Index rows = Rf_xlength(x) / std::max(columns, 1);
    const kernweave::Index n = (whole.count - 1) * kernweave::arrays::results_of(request.op) * columns;
    kernweave::device::Block out = here.room_for<double>(n);
    const auto reduce = skip ? here.verbs().reduce_known : here.verbs().reduce_all;
    reduce(here.gpu(), request, here.items(x, order), rows, columns, whole, here.at<double>(out));
    if (stays) return here.vector(REALSXP, std::move(out), n);
    Rcpp::NumericVector found(Rcpp::no_init(static_cast<R_xlen_t>(n)));
    here.gpu().download(found.begin(), out.at(), static_cast<std::size_t>(n) * sizeof(double));
    return found;
  });
}

// As r_scan().
// [[Rcpp::export(rng = false)]]
Rcpp::List r_scan_there(SEXP x, int columns, std::string op, SEXP offsets, SEXP order, bool exclusive, SEXP init,
                        std::string type) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    kernweave::arrays::Request request{kernweave::arrays::operator_named(op), false, !Rf_isNull(init), 0.0};
    if (request.begins) request.init = Rcpp::as<double>(init);
    const SEXPTYPE kind = type == "double" ? REALSXP : type == "logical" ? LGLSXP : INTSXP;
    const kernweave::Index n = Rf_xlength(x), rows = n / std::max(columns, 1);
    kernweave::device::Block out = kind == REALSXP ? here.room_for<double>(n) : here.room_for<int>(n);
    kernweave::arrays::Running to;
    to.missing = NA_INTEGER;
    if (kind == REALSXP) to.doubles = here.at<double>(out);
    else to.integers = here.at<int>(out);
    const bool overflow = here.verbs().scan_all(here.gpu(), request, exclusive, here.items(x, order), rows, columns,
                                                here.whole(offsets), to);
    const Rcpp::RObject values = here.vector(kind, std::move(out), n);
    return Rcpp::List::create(Rcpp::_["values"] = values, Rcpp::_["overflow"] = overflow);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_remove_there(SEXP x, SEXP at) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole gone = here.whole(at);
    return kernweave::moved_to(here, x, Rf_xlength(x) - gone.count, [&](const kernweave::arrays::cuda::Moved& m) {
      here.verbs().remove_items(here.gpu(), m, gone);
    });
  });
}

// Places from 1 to `most` in their order, each once.
// [[Rcpp::export(rng = false)]]
SEXP r_rising_there(SEXP at, double most) {
  return kernweave::on_device_of(at, [&](kernweave::OnDevice& here) -> SEXP {
    const auto n = static_cast<kernweave::Index>(most);
    return kernweave::integers_from(here, here.verbs().rising_places(here.gpu(), here.whole(at), n));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_insert_there(SEXP x, SEXP values, SEXP after) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole fresh = here.whole(values), places = here.whole(after);
    const kernweave::Index n = Rf_xlength(x) + fresh.count;
    return kernweave::moved_to(here, x, n, [&](const kernweave::arrays::cuda::Moved& m) {
      const void* const from = fresh.integers ? static_cast<const void*>(fresh.integers) : fresh.doubles;
      here.verbs().insert_items(here.gpu(), m, from, places);
    });
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_expand_there(SEXP x, SEXP offsets, double total) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const auto n = static_cast<kernweave::Index>(total);
    return kernweave::moved_to(here, x, n, [&](const kernweave::arrays::cuda::Moved& m) {
      here.verbs().expand_items(here.gpu(), m, here.whole(offsets), n);
    });
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_walk_there(SEXP offsets, double total) {
  return kernweave::on_device_of(offsets, [&](kernweave::OnDevice& here) {
    const auto n = static_cast<kernweave::Index>(total);
    kernweave::device::Block objects = here.room_for<int>(n), ranks = here.room_for<int>(n);
    here.verbs().objects_and_ranks(here.gpu(), here.whole(offsets), n, here.at<int>(objects), here.at<int>(ranks));
    const Rcpp::RObject object = here.vector(INTSXP, std::move(objects), n);
    const Rcpp::RObject rank = here.vector(INTSXP, std::move(ranks), n);
    return Rcpp::List::create(Rcpp::_["object"] = object, Rcpp::_["rank"] = rank);
  });
}

// Into a copy of `into`, or where that is NULL into as many items as there are to move.
// [[Rcpp::export(rng = false)]]
SEXP r_move_there(SEXP x, SEXP from, SEXP to, SEXP offsets, double total, SEXP into) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const auto moves = static_cast<kernweave::Index>(total);
    const kernweave::Index n = Rf_isNull(into) ? moves : Rf_xlength(into);
    const kernweave::arrays::Whole old = here.whole(into);
    return kernweave::moved_to(here, x, n, [&](const kernweave::arrays::cuda::Moved& m) {
      const void* const first = old.integers ? static_cast<const void*>(old.integers) : old.doubles;
      if (first) here.verbs().copy_numbers(here.gpu(), first, static_cast<std::size_t>(n * m.bytes), m.to);
      here.verbs().move_items(here.gpu(), m, here.whole(from), here.whole(to), here.whole(offsets), moves);
    });
  });
}
