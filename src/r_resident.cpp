// An ALTREP class for each type: the numbers are fetched once, and forgotten on the device when somebody may write
// here.
#include "r_resident.hpp"

#include <R_ext/Altrep.h>
#include <algorithm>
#include <cstring>

#include "border.hpp"
#include "device/copy.hpp"
#include "device/driver.hpp"

namespace kernweave {
namespace {

// Behind the external pointer in data1. Data2 holds the numbers once they are here, else NULL.
struct Behind {
  Kept kept;
  R_xlen_t length;
};

SEXP behind_tag() { return Rf_install("kernweave_resident"); }

R_altrep_class_t real_class, integer_class, logical_class;

Behind& behind(SEXP x) { return *static_cast<Behind*>(R_ExternalPtrAddr(R_altrep_data1(x))); }

void forget_resident(SEXP pointer) {
  delete static_cast<Behind*>(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

std::size_t size_of(SEXPTYPE type) { return type == REALSXP ? sizeof(double) : sizeof(int); }

// R calls in here and knows no exceptions: what fails leaves by signal_now(), with nothing left to destroy.
void fetch_into(SEXP x, void* to) {
  Signal signal;
  try {
    const Behind& b = behind(x);
    internal_check(!b.kept.copies.empty(), "numbers that are nowhere");
    b.kept.copies.begin()->second->fetch(to, static_cast<std::size_t>(b.length) * size_of(TYPEOF(x)));
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

// Whoever may write gets numbers that nobody else has.
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

double real_at(SEXP x, R_xlen_t k) { return REAL_RO(on_host(x))[k]; }
int integer_at(SEXP x, R_xlen_t k) { return INTEGER_RO(on_host(x))[k]; }
int logical_at(SEXP x, R_xlen_t k) { return LOGICAL_RO(on_host(x))[k]; }

template <class T>
R_xlen_t region(const T* from, R_xlen_t length, R_xlen_t first, R_xlen_t count, T* to) {
  const R_xlen_t some = std::min(count, length - first);
  std::copy(from + first, from + first + some, to);
  return some;
}
R_xlen_t real_region(SEXP x, R_xlen_t first, R_xlen_t count, double* to) {
  return region(REAL_RO(on_host(x)), length_of(x), first, count, to);
}
R_xlen_t logical_region(SEXP x, R_xlen_t first, R_xlen_t count, int* to) {
  return region(LOGICAL_RO(on_host(x)), length_of(x), first, count, to);
}
R_xlen_t integer_region(SEXP x, R_xlen_t first, R_xlen_t count, int* to) {
  return region(INTEGER_RO(on_host(x)), length_of(x), first, count, to);
}

void set_common(R_altrep_class_t type) {
  R_set_altrep_Length_method(type, length_of);
  R_set_altrep_Duplicate_method(type, copy_of);
  R_set_altvec_Dataptr_method(type, pointer_to);
  R_set_altvec_Dataptr_or_null_method(type, pointer_if_here);
}

SEXP make_resident(SEXPTYPE type, R_xlen_t length, SEXP host) {
  const Rcpp::Shield<SEXP> pointer(R_MakeExternalPtr(new Behind{{}, length}, behind_tag(), R_NilValue));
  R_RegisterCFinalizer(pointer, forget_resident);
  return R_new_altrep(type == REALSXP ? real_class : type == INTSXP ? integer_class : logical_class, pointer, host);
}

bool is_resident(SEXP x) {
  return R_altrep_inherits(x, real_class) || R_altrep_inherits(x, integer_class) || R_altrep_inherits(x, logical_class);
}

}  // namespace

SEXP resident_vector(SEXPTYPE type, R_xlen_t length) { return make_resident(type, length, R_NilValue); }

const double* numbers_on_host(SEXP vector) {
  if (!ALTREP(vector)) return REAL_RO(vector);
  const double* numbers = nullptr;
  Rcpp::unwindProtect([&] {
    numbers = REAL_RO(vector);
    return R_NilValue;
  });
  return numbers;
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

Kept* resident(SEXP vector) { return is_resident(vector) ? &behind(vector).kept : nullptr; }

}  // namespace kernweave

// [[Rcpp::init]]
void register_resident_vectors(DllInfo* dll) {
  kernweave::real_class = R_make_altreal_class("on_device_real", "kernweave", dll);
  kernweave::set_common(kernweave::real_class);
  R_set_altreal_Elt_method(kernweave::real_class, kernweave::real_at);
  R_set_altreal_Get_region_method(kernweave::real_class, kernweave::real_region);
  kernweave::integer_class = R_make_altinteger_class("on_device_integer", "kernweave", dll);
  kernweave::set_common(kernweave::integer_class);
  R_set_altinteger_Elt_method(kernweave::integer_class, kernweave::integer_at);
  R_set_altinteger_Get_region_method(kernweave::integer_class, kernweave::integer_region);
  kernweave::logical_class = R_make_altlogical_class("on_device_logical", "kernweave", dll);
  kernweave::set_common(kernweave::logical_class);
  R_set_altlogical_Elt_method(kernweave::logical_class, kernweave::logical_at);
  R_set_altlogical_Get_region_method(kernweave::logical_class, kernweave::logical_region);
}

// Returns the same numbers, dimensions and names, with a copy on a device. R's vector is held, not copied.
// [[Rcpp::export(rng = false)]]
SEXP r_on_device(SEXP x, int number) {
  return kernweave::at_border([&]() -> SEXP {
    const SEXPTYPE type = static_cast<SEXPTYPE>(TYPEOF(x));
    kernweave::internal_check(type == REALSXP || type == INTSXP, "numbers of another type");
    const kernweave::Verdict ready = kernweave::device::probe(number);
    kernweave::user_check(ready.yes, kernweave::Fault::no_device, "GPU ", number, " cannot be used: ", ready.why);
    const Rcpp::Shield<SEXP> made(kernweave::make_resident(type, Rf_xlength(x), x));
    const std::size_t bytes = static_cast<std::size_t>(Rf_xlength(x)) * kernweave::size_of(type);
    kernweave::resident(made)->copies[number] =
        kernweave::device::sent_bytes(DATAPTR_RO(x), bytes, &kernweave::device::open(number));
    SHALLOW_DUPLICATE_ATTRIB(made, x);
    return made;
  });
}

// Tells whether a vector's numbers are on a device. They no longer are once R's memory could have been written.
// [[Rcpp::export(rng = false)]]
bool r_is_on_device(SEXP x) {
  const kernweave::Kept* const kept = kernweave::resident(x);
  return kept && !kept->copies.empty();
}
