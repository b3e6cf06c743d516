// Finds where arrays lie, lends arrays to a device for a call, and holds the parts of verbs on a device.
#include "r_device_arrays.hpp"
#include <map>
#include "device/driver.hpp"

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

bool on_gpu(SEXP x) {
  const int number = device_number(x);
  return number >= 0 && (TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP) && !Rf_isObject(x) && carries_out_verbs(number);
}

bool has_attributes(SEXP x) { return !Rcpp::RObject(x).attributeNames().empty(); }

bool plain_on_gpu(SEXP x) { return on_gpu(x) && !has_attributes(x) && Rf_xlength(x) <= kMostInt; }

bool both_on_gpu(SEXP x, SEXP y) {
  return TYPEOF(x) == TYPEOF(y) && plain_on_gpu(x) && plain_on_gpu(y) && Rf_xlength(x) + Rf_xlength(y) <= kMostInt;
}

void read_here(SEXP x) {
  const Kept* const kept = resident(x);
  if (!kept && ALTREP(x) && TYPEOF(x) == REALSXP) numbers_on_host(x);
  if (!kept || kept->copies.empty()) return;
  const Rcpp::Environment home = Rcpp::Environment::namespace_env("kernweave");
  const Rcpp::Function say = home["wherever"];
  say(x);
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

SEXP sent_to(SEXP x, SEXP like) {
  return on_device_of(like, [&](OnDevice& here) -> SEXP {
    return here.moved(x, Rf_xlength(x), [&](const arrays::cuda::Moved& m) {
      here.verbs().copy_numbers(here.gpu(), m.from, static_cast<std::size_t>(m.count * m.bytes), m.to);
    });
  });
}

SEXP doubles_on_gpu(SEXP x, SEXP like) {
  return on_device_of(like, [&](OnDevice& here) -> SEXP {
    const arrays::Whole numbers = here.whole(x);
    device::Block out = here.room_for<double>(numbers.count);
    here.verbs().to_doubles(here.gpu(), numbers.integers, numbers.count, NA_INTEGER, NA_REAL, here.at<double>(out));
    return here.vector(REALSXP, std::move(out), numbers.count);
  });
}

SEXP taken_on_gpu(SEXP x, SEXP order) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole rows = here.whole(order), items = here.whole(x);
    return here.moved(x, rows.count, [&](const arrays::cuda::Moved& m) {
      here.verbs().take_items(here.gpu(), items, rows.integers, rows.count, m.to);
    });
  });
}

SEXP order_on_gpu(const Rcpp::List& columns, const Rcpp::LogicalVector& decreasing, SEXP offsets) {
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

}  // namespace kernweave

// Sets attributes of a vector that nobody else has, where R would copy it first.
// [[Rcpp::export(rng = false)]]
SEXP r_dress(SEXP x, Rcpp::List marks) {
  if (marks.size() == 0) return x;
  const Rcpp::CharacterVector names = marks.names();
  for (R_xlen_t k = 0; k < marks.size(); ++k) Rf_setAttrib(x, Rf_install(names[k]), marks[k]);
  return x;
}
