// Calls of kernweave by plain numbers; R's error is this package's own.
#include <Rinternals.h>
#include <kernweave/api.h>

static kernweave_error why;

static void check(int status) {
  if (status != KERNWEAVE_OK) Rf_error("%d: %s", status, why.text);
}

static kernweave_matrix points(SEXP x) {
  kernweave_matrix of = {REAL(x), Rf_nrows(x), Rf_ncols(x)};
  return of;
}

SEXP link_sum(SEXP kernel, SEXP scale, SEXP x, SEXP y, SEXP b, SEXP threads) {
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, Rf_nrows(x), Rf_ncols(b)));
  check(kernweave_sum(CHAR(STRING_ELT(kernel, 0)), Rf_asReal(scale), points(x), points(y), points(b),
                      Rf_asInteger(threads), REAL(out), &why));
  UNPROTECT(1);
  return out;
}

SEXP link_reduce(SEXP pointer, SEXP size, SEXP data) {
  kernweave_matrix operands[8];
  for (int k = 0; k < Rf_length(data) && k < 8; ++k) operands[k] = points(VECTOR_ELT(data, k));
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)Rf_asReal(size), 2));
  double* values = REAL(out);
  check(kernweave_reduce(R_ExternalPtrAddr(pointer), operands, Rf_length(data), 0, values, values + Rf_nrows(out),
                         Rf_nrows(out), &why));
  UNPROTECT(1);
  return out;
}

SEXP link_nearest(SEXP query, SEXP x, SEXP k, SEXP self, SEXP threads) {
  SEXP index = PROTECT(Rf_allocMatrix(INTSXP, Rf_nrows(query), Rf_asInteger(k)));
  SEXP distance = PROTECT(Rf_allocMatrix(REALSXP, Rf_nrows(query), Rf_asInteger(k)));
  check(kernweave_nearest(points(query), points(x), Rf_asInteger(k), Rf_asLogical(self), Rf_asInteger(threads),
                          INTEGER(index), REAL(distance), &why));
  SEXP both = PROTECT(Rf_list2(index, distance));
  UNPROTECT(3);
  return both;
}

SEXP link_radius(SEXP query, SEXP x, SEXP radius, SEXP self) {
  int64_t* offsets = (int64_t*)R_alloc(Rf_nrows(query) + 1, sizeof(int64_t));
  const int alone = Rf_asLogical(self);
  check(kernweave_radius(points(query), points(x), Rf_asReal(radius), alone, 0, offsets, NULL, NULL, &why));
  SEXP index = PROTECT(Rf_allocVector(INTSXP, offsets[Rf_nrows(query)]));
  SEXP distance = PROTECT(Rf_allocVector(REALSXP, XLENGTH(index)));
  check(kernweave_radius(points(query), points(x), Rf_asReal(radius), alone, 0, offsets, INTEGER(index), REAL(distance),
                         &why));
  SEXP counts = PROTECT(Rf_allocVector(INTSXP, Rf_nrows(query)));
  for (int i = 0; i < Rf_nrows(query); ++i) INTEGER(counts)[i] = (int)(offsets[i + 1] - offsets[i]);
  SEXP all = PROTECT(Rf_list3(index, distance, counts));
  UNPROTECT(4);
  return all;
}

SEXP link_order(SEXP x, SEXP decreasing, SEXP threads) {
  const int doubles = TYPEOF(x) == REALSXP;
  kernweave_key key = {doubles ? REAL(x) : NULL, doubles ? NULL : INTEGER(x), Rf_asLogical(decreasing)};
  SEXP order = PROTECT(Rf_allocVector(INTSXP, XLENGTH(x)));
  check(kernweave_order(&key, 1, XLENGTH(x), Rf_asInteger(threads), INTEGER(order), &why));
  UNPROTECT(1);
  return order;
}

SEXP link_index_add(SEXP x, SEXP index, SEXP source, SEXP alpha) {
  SEXP out = PROTECT(Rf_duplicate(x));
  check(kernweave_index_add(REAL(out), 1, Rf_nrows(x), Rf_ncols(x), INTEGER(index), XLENGTH(index), REAL(source),
                            Rf_asReal(alpha), 0, &why));
  UNPROTECT(1);
  return out;
}

static const R_CallMethodDef routines[] = {
    {"link_sum", (DL_FUNC)&link_sum, 6},       {"link_reduce", (DL_FUNC)&link_reduce, 3},
    {"link_nearest", (DL_FUNC)&link_nearest, 5}, {"link_radius", (DL_FUNC)&link_radius, 4},
    {"link_order", (DL_FUNC)&link_order, 3},   {"link_index_add", (DL_FUNC)&link_index_add, 4},
    {NULL, NULL, 0}};

void R_init_kwlink(DllInfo* dll) {
  R_registerRoutines(dll, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
}
