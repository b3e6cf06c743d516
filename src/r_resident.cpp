// An ALTREP class for each type: numbers are fetched once, and the device's copy is dropped when R may write.
#include "border.hpp"

#include <R_ext/Altrep.h>

#include "device/copy.hpp"
#include "device/driver.hpp"

namespace kernweave {
namespace {

// The data behind the external pointer in data1. Data2 holds the numbers once they are here, else NULL.
struct Behind {
  Kept kept;
  R_xlen_t length;
};

R_altrep_class_t real_class, integer_class, logical_class;

Behind& behind(SEXP x) { return *static_cast<Behind*>(R_ExternalPtrAddr(R_altrep_data1(x))); }

// R calls this, and cannot handle exceptions: failures leave by signal_now(), when nothing is left to destroy.
void fetch_into(SEXP x, void* to) {
  Signal signal;
  try {
    const Behind& b = behind(x);
    internal_check(!b.kept.copies.empty(), "numbers that are nowhere");
    b.kept.copies.begin()->second->fetch(to, static_cast<std::size_t>(b.length) * bytes_of_item(x));
  } catch (const Failure& failure) {
    signal = signal_of(failure);
  }
  signal_now(signal);
}

SEXP on_host(SEXP x) {
  SEXP host = R_altrep_data2(x);
  if (!Rf_isNull(host)) return host;
  host = PROTECT(Rf_allocVector(TYPEOF(x), behind(x).length));
  fetch_into(x, numbers_of(host));
  R_set_altrep_data2(x, host);
  UNPROTECT(1);
  return host;
}

R_xlen_t length_of(SEXP x) { return behind(x).length; }

// Code that may write gets numbers that are not shared.
void* pointer_to(SEXP x, Rboolean writable) {
  SEXP host = on_host(x);
  if (!writable) return numbers_of(host);
  if (MAYBE_SHARED(host)) R_set_altrep_data2(x, host = Rf_shallow_duplicate(host));
  behind(x).kept = Kept();
  return numbers_of(host);
}

const void* pointer_if_here(SEXP x) {
  const SEXP host = R_altrep_data2(x);
  return Rf_isNull(host) ? nullptr : DATAPTR_RO(host);
}

SEXP copy_of(SEXP x, Rboolean) { return Rf_duplicate(on_host(x)); }

template <class T>
T item_at(SEXP x, R_xlen_t k) {
  return static_cast<const T*>(DATAPTR_RO(on_host(x)))[k];
}

template <class T>
R_xlen_t region(SEXP x, R_xlen_t first, R_xlen_t count, T* to) {
  const R_xlen_t some = std::min(count, length_of(x) - first);
  std::copy_n(static_cast<const T*>(DATAPTR_RO(on_host(x))) + first, some, to);
  return some;
}

R_altrep_class_t with_common(R_altrep_class_t type) {
  R_set_altrep_Length_method(type, length_of);
  R_set_altrep_Duplicate_method(type, copy_of);
  R_set_altvec_Dataptr_method(type, pointer_to);
  R_set_altvec_Dataptr_or_null_method(type, pointer_if_here);
  return type;
}

SEXP make_resident(SEXPTYPE type, R_xlen_t length, SEXP host) {
  const Shield<SEXP> pointer(R_MakeExternalPtr(new Behind{{}, length}, Rf_install("kernweave_resident"), R_NilValue));
  R_RegisterCFinalizer(pointer, forget<Behind>);
  return R_new_altrep(type == REALSXP ? real_class : type == INTSXP ? integer_class : logical_class, pointer, host);
}

bool is_resident(SEXP x) {
  return R_altrep_inherits(x, real_class) || R_altrep_inherits(x, integer_class) || R_altrep_inherits(x, logical_class);
}

}  // namespace

const void* numbers_unwinding(SEXP vector) {
  const void* numbers = nullptr;
  Rcpp::unwindProtect([&] {
    numbers = DATAPTR_RO(vector);
    return R_NilValue;
  });
  return numbers;
}

SEXP resident_vector(SEXPTYPE type, R_xlen_t length) { return make_resident(type, length, R_NilValue); }

const double* numbers_on_host(SEXP vector) {
  if (!ALTREP(vector) || TYPEOF(vector) != REALSXP) return REAL_RO(vector);
  return static_cast<const double*>(numbers_unwinding(vector));
}

void* numbers_of(SEXP vector) {
  switch (TYPEOF(vector)) {
    case RAWSXP: return RAW(vector);
    case LGLSXP: return LOGICAL(vector);
    case INTSXP: return INTEGER(vector);
    case REALSXP: return REAL(vector);
    default: return COMPLEX(vector);
  }
}

std::size_t bytes_of_item(SEXP vector) {
  switch (TYPEOF(vector)) {
    case RAWSXP: return 1;
    case LGLSXP:
    case INTSXP: return 4;
    case REALSXP: return 8;
    case CPLXSXP: return 16;
    default: fail(Fault::internal, "items of R's type ", TYPEOF(vector), " are no plain bytes");
  }
}

Kept* resident(SEXP vector) { return is_resident(vector) ? &behind(vector).kept : nullptr; }

// [[Rcpp::init]]
void register_resident_vectors(DllInfo* dll) {
  real_class = with_common(R_make_altreal_class("on_device_real", "kernweave", dll));
  R_set_altreal_Elt_method(real_class, item_at<double>);
  R_set_altreal_Get_region_method(real_class, region<double>);
  integer_class = with_common(R_make_altinteger_class("on_device_integer", "kernweave", dll));
  R_set_altinteger_Elt_method(integer_class, item_at<int>);
  R_set_altinteger_Get_region_method(integer_class, region<int>);
  logical_class = with_common(R_make_altlogical_class("on_device_logical", "kernweave", dll));
  R_set_altlogical_Elt_method(logical_class, item_at<int>);
  R_set_altlogical_Get_region_method(logical_class, region<int>);
}

// Returns the same numbers, dimensions and names, with a copy on a device. R's vector is held, not copied.
// [[Rcpp::export(rng = false)]]
SEXP r_on_device(SEXP x, int number) {
  const SEXPTYPE type = static_cast<SEXPTYPE>(TYPEOF(x));
  internal_check(type == REALSXP || type == INTSXP, "numbers of another type");
  const Verdict ready = device::probe(number);
  user_check(ready.yes, Fault::no_device, "GPU ", number, " cannot be used: ", ready.why);
  const Shield<SEXP> made(make_resident(type, Rf_xlength(x), x));
  const std::size_t bytes = static_cast<std::size_t>(Rf_xlength(x)) * bytes_of_item(x);
  resident(made)->copies[number] = device::sent_bytes(DATAPTR_RO(x), bytes, &device::open(number));
  SHALLOW_DUPLICATE_ATTRIB(made, x);
  return made;
}

}  // namespace kernweave
