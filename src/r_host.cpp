// Allocates results in R, gives them their shape, type and NA, and notices the user while they are computed.
#include "r_call.hpp"

namespace kernweave {
namespace {

// Bytes of results on a device between two young collections of R, each of which takes a few milliseconds.
constexpr double kBytesBetweenCollections = 1e9;

// Makes a vector of R. R's allocator leaves by a long jump, and its error has no class of ours: a large request is made
// under R's tryCatch (some microseconds), a small one under Rcpp's unwinding.
SEXP allocate(SEXPTYPE type, double length) {
  constexpr double small = 1e6;
  auto make = [&] { return Rf_allocVector(type, static_cast<R_xlen_t>(length)); };
  if (length < small) return Rcpp::unwindProtect(make);
  const auto run = [](void* data) { return (*static_cast<decltype(make)*>(data))(); };
  const auto refuse = [](SEXP, void*) { return R_NilValue; };
  const bool countable = length <= static_cast<double>(R_XLEN_T_MAX);
  const SEXP made = countable ? R_tryCatchError(run, &make, refuse, nullptr) : R_NilValue;
  user_check(!Rf_isNull(made), Fault::memory, "not enough memory for a result of ", length, " numbers (",
             std::ceil(length * 8 / 1048576), " MB)");
  return made;
}

// Returns rows x components, rows x K, or rows x K x components; pairs keep their two axes. Outer axes come last.
IntegerVector result_dim(const Output& o, const Sizes& sizes) {
  std::vector<std::int64_t> dim = {kept_rows(o.keep, sizes)};
  if (o.keep == Keep::both) dim = {sizes.i, sizes.j};
  const bool listed = row(o.red).inputs == Inputs::value_k;
  if (listed) dim.push_back(o.places);
  if (o.width > 1 || (!listed && o.keep != Keep::both)) dim.push_back(o.width);
  dim.insert(dim.end(), sizes.outer.begin(), sizes.outer.end() - sizes.folded);
  for (std::int64_t extent : dim)
    user_check(extent <= std::numeric_limits<int>::max(), Fault::unsupported, "a result of ", extent, " rows");
  return IntegerVector(dim.begin(), dim.end());
}

// Tells R the share and the seconds of a call so far, or NA for both. Returns whether R has shown any progress.
bool progress_polled(double share, double seconds) { return as<bool>(own_function("progress_polled")(share, seconds)); }

// Tells whether R should collect: R does not see how much memory of a device its vectors hold.
bool time_to_collect(double bytes) {
  static double since = 0;
  since += bytes;
  if (since < kBytesBetweenCollections) return false;
  since = bytes;
  return true;
}

}  // namespace

// One output, as an array of R or a list of value and index.
class OutputBuffer {
 public:
  // `stays`: are the n numbers left on the device that finds them?
  OutputBuffer(const Output& o, const Sizes& sizes, const PointNames& names, double n, bool stays)
      : output_(o), sizes_(sizes), names_(names) {
    const Results results = o.finish.results;
    const auto room = [&](SEXPTYPE type, bool may_stay) {
      return stays && may_stay && n > 0 ? resident_vector(type, static_cast<R_xlen_t>(n)) : allocate(type, n);
    };
    if (results != Results::index) values_ = room(REALSXP, o.kind != Kind::logical);
    if (results != Results::value) numbers_ = room(numbers_fit() ? INTSXP : REALSXP, numbers_fit());
  }

  // Returns the memory to which a back end writes.
  Result result() {
    Result r;
    if (!values_.isNULL() && !(r.values_stay = resident(values_))) r.values = REAL(values_);
    if (numbers_.isNULL() || (r.numbers_stay = resident(numbers_))) return r;
    if (TYPEOF(numbers_) == INTSXP) r.numbers.whole = INTEGER(numbers_);
    else r.numbers = {nullptr, REAL(numbers_), NA_REAL};
    return r;
  }

  SEXP to_r() const {
    const Results results = output_.finish.results;
    if (results == Results::value) return values_to_r();
    if (results == Results::index) return shaped(numbers_);
    return List::create(_["value"] = values_to_r(), _["index"] = shaped(numbers_));
  }

 private:
  SEXP shaped(RObject array) const {
    const IntegerVector dim = result_dim(output_, sizes_);
    array.attr("dim") = dim;
    const Keep keep = output_.keep;
    List names(dim.size());
    if (keep != Keep::none) names[0] = keep == Keep::j ? names_.j : names_.i;
    if (keep == Keep::both) names[1] = names_.j;
    if (!Rf_isNull(names[0]) || (names.size() > 1 && !Rf_isNull(names[1]))) array.attr("dimnames") = names;
    return array;
  }

  SEXP values_to_r() const {
    if (output_.kind != Kind::logical) return shaped(values_);
    const RObject truth = allocate(LGLSXP, static_cast<double>(Rf_xlength(values_)));
    for (R_xlen_t k = 0; k < Rf_xlength(values_); ++k) LOGICAL(truth)[k] = REAL(values_)[k] != 0;
    return shaped(truth);
  }

  // Tells whether every row number fits an integer; otherwise row numbers are doubles.
  bool numbers_fit() const {
    const double largest = output_.keep == Keep::i   ? static_cast<double>(sizes_.j)
                           : output_.keep == Keep::j ? static_cast<double>(sizes_.i)
                                                     : sizes_.places();
    return largest * static_cast<double>(sizes_.folded_runs()) <= std::numeric_limits<int>::max();
  }

  const Output& output_;
  const Sizes sizes_;
  const PointNames names_;
  RObject values_;
  RObject numbers_;  // row numbers
};

RHost::RHost(const Given& given, PointNames names)
    : given_(given), names_(std::move(names)), start_(Clock::now()), next_(start_ + std::chrono::seconds(2)) {}

RHost::~RHost() { if (shown_) REprintf("\r%*s\r", 78, ""); }

// Checks for the user's interrupt, and has R show the progress of a long call.
void RHost::poll(double share) {
  poll_interrupt();
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(500);
  if (progress_polled(share, std::chrono::duration<double>(now - start_).count())) shown_ = true;
}

void RHost::collect() { Function("gc")(); }

Coordinates<double> axes_of(const NumericMatrix& points) {
  Coordinates<double> axes;
  for (int axis = 0; axis < points.ncol(); ++axis)
    axes.emplace_back(points.column(axis).begin(), points.column(axis).end());
  return axes;
}

void poll_r(double) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point next;
  poll_interrupt();
  if (Clock::now() < next) return;
  next = Clock::now() + std::chrono::milliseconds(500);
  progress_polled(NA_REAL, NA_REAL);
}

// Says one message in a process: a message about a device holds for every call.
void RHost::say(const std::string& message) {
  static bool said = false;
  if (said) return;
  said = true;
  Function("message")(message);
}

const double* RHost::on_host(int operand) { return numbers_on_host(given_.data[operand]); }

Result RHost::allocate(std::size_t, const Output& output, const Sizes& sizes, bool stays) {
  const double numbers = static_cast<double>(kept_rows(output.keep, sizes)) * output.width * output.places *
                         static_cast<double>(sizes.kept_runs());
  // To free memory of the device that calls have left unused, a collection of young objects is enough.
  if (stays && time_to_collect(numbers * sizeof(double))) Function("gc")(_["full"] = false);
  buffers_.emplace_back(output, sizes, names_, numbers, stays);
  return buffers_.back().result();
}

List RHost::results() {
  List out;
  for (const OutputBuffer& buffer : buffers_) out.push_back(buffer.to_r());
  return out;
}

}  // namespace kernweave
