// Matrices whose numbers lie in a file (an ALTREP class over base/map.hpp), and files of numbers that R fills.
#include "border.hpp"

#include <R_ext/Altrep.h>
#include "base/map.hpp"
#include "base/system.hpp"

namespace kernweave {
namespace {

using CheckedAt = std::chrono::steady_clock;

// Data behind the external pointer in data1. A loaded vector's file is looked for when its numbers are needed: a
// workspace loads without it. Data2: numbers for code that may write, if the system has no memory for them; else NULL.
struct Mapped {
  std::string path, host;  // host: the host on which it was mapped
  std::int64_t offset = 0;
  R_xlen_t length = 0;
  FileStamp stamp;
  MappedFile file;
  CheckedAt::time_point checked;
};

constexpr const char* kFileTag = "kernweave_file";
R_altrep_class_t mapped_class;

Mapped& mapped(SEXP x) { return *static_cast<Mapped*>(R_ExternalPtrAddr(R_altrep_data1(x))); }

template <class T>
SEXP pointer_behind(std::unique_ptr<T> object, const char* tag) {
  const SEXP pointer = PROTECT(R_MakeExternalPtr(object.release(), Rf_install(tag), R_NilValue));
  R_RegisterCFinalizerEx(pointer, forget<T>, TRUE);
  UNPROTECT(1);
  return pointer;
}

#ifdef _WIN32
std::string path_from_r(SEXP path) { return Rf_translateCharUTF8(path); }
SEXP path_to_r(const std::string& path) { return Rf_mkCharCE(path.c_str(), CE_UTF8); }
#else
std::string path_from_r(SEXP path) { return Rf_translateChar(path); }
SEXP path_to_r(const std::string& path) { return Rf_mkChar(path.c_str()); }
#endif

// --- the checks of a file -------------------------------------------------------------------------------------------

// Another host numbers its files anew, and copies of a file that keep its time keep whole seconds only.
bool is_same(const FileStamp& now, const Mapped& m, const std::string& host) {
  return host == m.host ? now == m.stamp : now.bytes == m.stamp.bytes && now.seconds == m.stamp.seconds;
}

// Checks that the file is unchanged, and maps it.
void check_file(Mapped* m) {
  m->checked = {};
  const std::string host = this_host();
  const std::string file = "the file `" + m->path + "`" + (host == m->host ? "" : ", mapped on " + m->host + ",");
  FileStamp now;
  const Verdict found = look_at_file(m->path, &now);
  if (!found.yes) fail(Fault::file_changed, file, " cannot be read on ", host, ": ", found.why);
  if (now.bytes != m->stamp.bytes)
    fail(Fault::file_changed, file, " has ", now.bytes, " bytes on ", host, ", and had ", m->stamp.bytes,
         " when it was mapped; map it again with map_points()");
  if (!is_same(now, *m, host))
    fail(Fault::file_changed, file,
         host == m->host ? " was written after it was mapped" : " is not of the same time on " + host,
         "; map it again with map_points()");
  m->checked = CheckedAt::now();
  if (m->file.data()) return;
  const Verdict opened = m->file.open(m->path, m->offset, m->length * static_cast<std::int64_t>(sizeof(double)));
  if (!opened.yes) fail(Fault::file_changed, file, " cannot be mapped on ", host, ": ", opened.why);
}

// R calls the functions below, and cannot handle exceptions: see r_resident.cpp.
Signal checked(SEXP x) {
  try {
    check_file(&mapped(x));
  } catch (const Failure& failure) {
    return signal_of(failure);
  } catch (const std::exception& failure) {
    return signal_of(Failure(Fault::memory, failure.what()));
  }
  return {};
}

// `often`: R takes single numbers many in a row, so a file is then checked a thousand times a second at most.
const double* numbers(SEXP x, bool often = false) {
  const Mapped& m = mapped(x);
  const bool late = !often || !m.file.data() || CheckedAt::now() - m.checked > std::chrono::milliseconds(1);
  if (late) signal_now(checked(x));
  const SEXP own = R_altrep_data2(x);
  return Rf_isNull(own) ? static_cast<const double*>(m.file.data()) : REAL_RO(own);
}

// --- the class ------------------------------------------------------------------------------------------------------

R_xlen_t mapped_length(SEXP x) { return mapped(x).length; }

SEXP mapped_copy(SEXP x, Rboolean) {
  const double* const from = numbers(x);
  const SEXP copy = PROTECT(Rf_allocVector(REALSXP, mapped(x).length));
  std::memcpy(REAL(copy), from, static_cast<std::size_t>(mapped(x).length) * sizeof(double));
  UNPROTECT(1);
  return copy;
}

// R never writes here, since a mapped vector counts as shared. Code that asks for writable memory, but most often only
// reads, gets memory in which writing does no harm.
void* mapped_pointer(SEXP x, Rboolean writes) {
  const double* const here = numbers(x);
  if (!writes) return const_cast<double*>(here);
  if (Rf_isNull(R_altrep_data2(x))) {
    if (void* const own = mapped(x).file.writable()) return own;
    R_set_altrep_data2(x, mapped_copy(x, FALSE));
  }
  return REAL(R_altrep_data2(x));
}

const void* mapped_pointer_if_sound(SEXP x) { return checked(x).kind ? nullptr : numbers(x); }

double mapped_at(SEXP x, R_xlen_t k) { return numbers(x, true)[k]; }

SEXP make_mapped(std::unique_ptr<Mapped> m) {
  const SEXP pointer = PROTECT(pointer_behind(std::move(m), "kernweave_map"));
  const SEXP made = R_new_altrep(mapped_class, pointer, R_NilValue);
  UNPROTECT(1);
  MARK_NOT_MUTABLE(made);
  return made;
}

// Saves path and host, place and stamp. A file's number has more bits than a double, so it is saved as two.
SEXP mapped_state(SEXP x) {
  const Mapped& m = mapped(x);
  const SEXP state = PROTECT(Rf_allocVector(VECSXP, 2)), words = Rf_allocVector(STRSXP, 2);
  SET_VECTOR_ELT(state, 0, words);
  SET_STRING_ELT(words, 0, path_to_r(m.path));
  SET_STRING_ELT(words, 1, Rf_mkChar(m.host.c_str()));
  const auto figure = [](auto number) { return static_cast<double>(number); };
  const double figures[] = {figure(m.offset), figure(m.length), figure(m.stamp.bytes), figure(m.stamp.number >> 32),
                            figure(m.stamp.number & 0xffffffffu), figure(m.stamp.seconds),
                            figure(m.stamp.nanoseconds)};
  SET_VECTOR_ELT(state, 1, Rf_allocVector(REALSXP, 7));
  std::copy(figures, figures + 7, REAL(VECTOR_ELT(state, 1)));
  UNPROTECT(1);
  return state;
}

// Checks the saved data, which may be damaged: impossible lengths are refused.
bool is_state(SEXP state) {
  if (TYPEOF(state) != VECSXP || Rf_xlength(state) != 2) return false;
  const SEXP words = VECTOR_ELT(state, 0), figures = VECTOR_ELT(state, 1);
  if (TYPEOF(words) != STRSXP || Rf_xlength(words) != 2 || TYPEOF(figures) != REALSXP || Rf_xlength(figures) != 7)
    return false;
  const double* const f = REAL_RO(figures);
  for (int k = 0; k < 7; ++k)
    if (!(f[k] >= (k == 5 ? -1e18 : 0) && f[k] < 1e18)) return false;
  return f[0] + 8 * f[1] <= f[2] && f[1] >= 1;
}

SEXP mapped_from_state(SEXP, SEXP state) {
  Signal damaged;
  if (!is_state(state)) damaged = signal_of({Fault::input, "what a mapped matrix was saved as is damaged"});
  signal_now(damaged);
  const double* const f = REAL_RO(VECTOR_ELT(state, 1));
  std::unique_ptr<Mapped> m = std::make_unique<Mapped>();
  m->path = path_from_r(STRING_ELT(VECTOR_ELT(state, 0), 0));
  m->host = CHAR(STRING_ELT(VECTOR_ELT(state, 0), 1));
  m->offset = static_cast<std::int64_t>(f[0]);
  m->length = static_cast<R_xlen_t>(f[1]);
  m->stamp = {static_cast<std::int64_t>(f[2]),
              (static_cast<std::uint64_t>(f[3]) << 32) | static_cast<std::uint64_t>(f[4]),
              static_cast<std::int64_t>(f[5]), static_cast<std::int64_t>(f[6])};
  return make_mapped(std::move(m));
}

// --- rows of a file -------------------------------------------------------------------------------------------------

// Counts the rows that the file holds from the offset on, or checks `asked` rows; NaN if no count is asked for.
std::int64_t rows_in(const FileStamp& stamp, std::int64_t width, std::int64_t offset, double asked) {
  const std::int64_t left = stamp.bytes - offset, row = 8 * width;
  user_check(left >= 0, Fault::shape, "`offset` is ", offset, " bytes, and the file has ", stamp.bytes);
  if (std::isnan(asked))
    user_check(left % row == 0, Fault::shape, "`file` has ", left, " bytes of numbers, which are no whole rows of ",
               "`width` = ", width, " doubles, ", row, " bytes each");
  const std::int64_t rows = std::isnan(asked) ? left / row : static_cast<std::int64_t>(asked);
  user_check(rows <= left / row, Fault::shape, "`file` has ", left, " bytes of numbers, too few for ", rows,
             " rows of ", width, " doubles");
  user_check(rows <= std::numeric_limits<int>::max(), Fault::shape, "`file` has ", rows, " rows of `width` = ", width,
             " doubles, and R's matrices have 2147483647 at most");
  return rows;
}

NewFile& new_file_behind(SEXP pointer) { return object_behind<NewFile>(pointer, kFileTag, "file being written"); }

}  // namespace

// [[Rcpp::init]]
void register_mapped_vectors(DllInfo* dll) {
  mapped_class = R_make_altreal_class("in_file_real", "kernweave", dll);
  R_set_altrep_Length_method(mapped_class, mapped_length);
  R_set_altrep_Duplicate_method(mapped_class, mapped_copy);
  R_set_altrep_Serialized_state_method(mapped_class, mapped_state);
  R_set_altrep_Unserialize_method(mapped_class, mapped_from_state);
  R_set_altvec_Dataptr_method(mapped_class, mapped_pointer);
  R_set_altvec_Dataptr_or_null_method(mapped_class, mapped_pointer_if_sound);
  R_set_altreal_Elt_method(mapped_class, mapped_at);
}

// Makes a matrix of the numbers of a file. `rows`: NA for all rows.
// [[Rcpp::export(rng = false)]]
SEXP r_map(SEXP file, int width, double offset, double rows, SEXP names) {
  auto m = std::make_unique<Mapped>();
  m->path = path_from_r(STRING_ELT(file, 0));
  m->host = this_host();
  const Verdict found = look_at_file(m->path, &m->stamp);
  user_check(found.yes, Fault::input, "`file`, `", m->path, "`, cannot be read: ", found.why);
  const std::int64_t n = rows_in(m->stamp, width, static_cast<std::int64_t>(offset), rows);
  m->offset = static_cast<std::int64_t>(offset);
  m->length = static_cast<R_xlen_t>(n * width);
  if (n > 0) {
    const Verdict opened = m->file.open(m->path, m->offset, 8 * n * width);
    user_check(opened.yes, Fault::input, "`file`, `", m->path, "`, cannot be mapped: ", opened.why);
  }
  const Shield<SEXP> made(n > 0 ? make_mapped(std::move(m)) : Rf_allocVector(REALSXP, 0));
  make_matrix(made, n, width);
  if (!Rf_isNull(names)) Rf_setAttrib(made, R_DimNamesSymbol, names);
  return made;
}

// Returns the place of the numbers: a mapped "file", a "device", or "memory". They are no longer on a device once R's
// memory could have been written.
// [[Rcpp::export(rng = false)]]
std::string r_home(SEXP x) {
  if (ALTREP(x) && R_altrep_inherits(x, mapped_class)) return "file";
  const Kept* const kept = resident(x);
  return kept && !kept->copies.empty() ? "device" : "memory";
}

// Begins a file, which has the name `part` until it is finished.
// [[Rcpp::export(rng = false)]]
SEXP r_new_file(SEXP part, SEXP path, double bytes) {
  user_check(bytes < 0x1p62, Fault::disk, "a file of ", bytes, " bytes cannot be written");
  auto file = std::make_unique<NewFile>(path_from_r(STRING_ELT(part, 0)), path_from_r(STRING_ELT(path, 0)),
                                        static_cast<std::int64_t>(bytes));
  return pointer_behind(std::move(file), kFileTag);
}

// Writes some rows of a file of n rows, from row `first`, counted from 1.
// [[Rcpp::export(rng = false)]]
void r_write_rows(SEXP file, SEXP values, double first, double n) {
  NewFile& written = new_file_behind(file);
  const SEXP dim = Rf_getAttrib(values, R_DimSymbol);
  const std::int64_t rows = Rf_isNull(dim) ? Rf_xlength(values) : INTEGER_RO(dim)[0];
  const std::int64_t before = static_cast<std::int64_t>(first) - 1;
  const double* const from = numbers_on_host(values);
  for (std::int64_t c = 0; rows > 0 && c < Rf_xlength(values) / rows; ++c)
    written.write(from + c * rows, 8 * rows, 8 * (c * static_cast<std::int64_t>(n) + before));
}

// Gives a finished file its name; else ends the writing, and removes the unfinished file.
// [[Rcpp::export(rng = false)]]
void r_end_file(SEXP file, bool whole) {
  if (whole) new_file_behind(file).finish();
  else forget<NewFile>(file);
}

// Computes a sum of the bytes of numbers, as 16 digits, by which a job recognises its data.
// [[Rcpp::export(rng = false)]]
std::string r_sum_of_bytes(SEXP numbers) {
  const double* const at = numbers_on_host(numbers);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (R_xlen_t k = 0; k < Rf_xlength(numbers); ++k) {
    std::uint64_t word;
    std::memcpy(&word, at + k, sizeof word);
    sum = (sum ^ word) * 0x100000001b3;
    sum ^= sum >> 29;  // high bits of a number reach the low bits of the sum
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return std::string(text);
}

}  // namespace kernweave
