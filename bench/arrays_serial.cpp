// The verbs of bench/arrays.R on one thread, by the standard library.
#include <Rcpp.h>

#include <algorithm>
#include <numeric>

using Rcpp::IntegerVector;
using Rcpp::NumericVector;

// [[Rcpp::export]]
double serial_sum(const NumericVector& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// [[Rcpp::export]]
double serial_sum_whole(const IntegerVector& x) { return std::accumulate(x.begin(), x.end(), 0LL); }

// [[Rcpp::export]]
double serial_min(const NumericVector& x) { return *std::min_element(x.begin(), x.end()); }

// [[Rcpp::export]]
NumericVector serial_scan(const NumericVector& x) {
  NumericVector out(Rcpp::no_init(x.size()));
  std::partial_sum(x.begin(), x.end(), out.begin());
  return out;
}

// [[Rcpp::export]]
NumericVector serial_segmented_sum(const NumericVector& x, const IntegerVector& lengths) {
  NumericVector out(Rcpp::no_init(lengths.size()));
  const double* at = x.begin();
  for (R_xlen_t k = 0; k < lengths.size(); at += lengths[k++]) out[k] = std::accumulate(at, at + lengths[k], 0.0);
  return out;
}

// [[Rcpp::export]]
NumericVector serial_remove(const NumericVector& x, const IntegerVector& at) {
  NumericVector out(Rcpp::no_init(x.size() - at.size()));
  double* to = out.begin();
  R_xlen_t from = 0;
  for (const int gone : at) {
    to = std::copy(x.begin() + from, x.begin() + gone - 1, to);
    from = gone;
  }
  std::copy(x.begin() + from, x.end(), to);
  return out;
}

// [[Rcpp::export]]
NumericVector serial_insert(const NumericVector& x, const NumericVector& values, const IntegerVector& after) {
  NumericVector out(Rcpp::no_init(x.size() + values.size()));
  double* to = out.begin();
  R_xlen_t from = 0;
  for (R_xlen_t k = 0; k < values.size(); ++k) {
    to = std::copy(x.begin() + from, x.begin() + after[k], to);
    from = after[k];
    *to++ = values[k];
  }
  std::copy(x.begin() + from, x.end(), to);
  return out;
}

// [[Rcpp::export]]
NumericVector serial_expand(const NumericVector& x, const IntegerVector& counts) {
  NumericVector out(Rcpp::no_init(std::accumulate(counts.begin(), counts.end(), R_xlen_t(0))));
  double* to = out.begin();
  for (R_xlen_t k = 0; k < x.size(); ++k) to = std::fill_n(to, counts[k], x[k]);
  return out;
}

// [[Rcpp::export]]
Rcpp::List serial_walk(const IntegerVector& counts) {
  const R_xlen_t n = std::accumulate(counts.begin(), counts.end(), R_xlen_t(0));
  IntegerVector object(Rcpp::no_init(n)), rank(Rcpp::no_init(n));
  int *o = object.begin(), *r = rank.begin();
  for (R_xlen_t k = 0; k < counts.size(); ++k) {
    o = std::fill_n(o, counts[k], static_cast<int>(k) + 1);
    std::iota(r, r + counts[k], 1);
    r += counts[k];
  }
  return Rcpp::List::create(object, rank);
}

// [[Rcpp::export]]
NumericVector serial_gather(const NumericVector& x, const IntegerVector& from, const IntegerVector& counts) {
  NumericVector out(Rcpp::no_init(std::accumulate(counts.begin(), counts.end(), R_xlen_t(0))));
  double* to = out.begin();
  for (R_xlen_t k = 0; k < from.size(); ++k) to = std::copy_n(x.begin() + from[k] - 1, counts[k], to);
  return out;
}

// Merges two sorted vectors, or combines them as multisets.
// [[Rcpp::export]]
double serial_sorted(const NumericVector& a, const NumericVector& b, int op) {
  const double *x = a.begin(), *y = b.begin(), *xe = a.end(), *ye = b.end();
  NumericVector out(Rcpp::no_init(a.size() + b.size()));
  double* const to = out.begin();
  switch (op) {
    case 0: return std::merge(x, xe, y, ye, to) - to;
    case 1: return std::set_union(x, xe, y, ye, to) - to;
    case 2: return std::set_intersection(x, xe, y, ye, to) - to;
    case 3: return std::set_difference(x, xe, y, ye, to) - to;
  }
  return std::set_symmetric_difference(x, xe, y, ye, to) - to;
}

// Slices of a source added to a copy of x, item by item; `before` numbers of a slice lie together.
// [[Rcpp::export]]
SEXP serial_add(SEXP x, const IntegerVector& index, const NumericVector& source, double before, double extent) {
  const Rcpp::Shield<SEXP> out(Rf_duplicate(x));
  double* const to = REAL(out);
  const R_xlen_t b = before, n = extent, items = index.size(), after = source.size() / (b * items);
  for (R_xlen_t a = 0; a < after; ++a) {
    for (R_xlen_t s = 0; s < items; ++s) {
      double* const row = to + b * (index[s] - 1 + n * a);
      const double* const from = source.begin() + b * (s + items * a);
      for (R_xlen_t k = 0; k < b; ++k) row[k] += from[k];
    }
  }
  return out;
}
