// Functions for C and C++ code of other packages (inst/include/kernweave/api.h): plain numbers in, a status out.
#include "kernweave/api.h"

#include <numeric>

#include "expr/parse.hpp"
#include "r_arrays.hpp"
#include "r_call.hpp"

namespace kernweave {
namespace api {
namespace {

static_assert(KERNWEAVE_INPUT == static_cast<int>(Fault::input) + 1, "causes are those of the engine, in its order");
static_assert(KERNWEAVE_FILE_CHANGED == static_cast<int>(Fault::file_changed) + 1, "another cause than the engine's");

int told(kernweave_error* error, int status, const std::string& text) {
  if (!error) return status;
  error->status = status;
  const std::size_t count = std::min(text.size(), sizeof error->text - 1);
  std::copy_n(text.begin(), count, error->text);
  error->text[count] = '\0';
  return status;
}

// Carries out a call from other code, which no exception may reach.
template <class Work>
int called_from_c(kernweave_error* error, Work work) {
  try {
    work();
    return told(error, KERNWEAVE_OK, "");
  } catch (const Failure& failure) {
    return told(error, static_cast<int>(failure.fault) + 1, failure.message);
  } catch (const Interrupted&) {
    return told(error, KERNWEAVE_INTERRUPTED, "interrupted by the user");
  } catch (const std::bad_alloc&) {
    return told(error, KERNWEAVE_MEMORY, "not enough memory for the workspace of this call");
  } catch (const std::exception& failure) {
    return told(error, KERNWEAVE_INTERNAL, failure.what());
  } catch (...) {
    return told(error, KERNWEAVE_INTERNAL, "an unknown failure");
  }
}

// --- reductions ------------------------------------------------------------------------------------------------------

// Results go to memory of the caller, or are refused if the caller gave no memory or another size.
class CallerHost : public Host {
 public:
  CallerHost(double* values, RowNumbers numbers, std::int64_t size) : values_(values), numbers_(numbers), size_(size) {}

  void poll(double) override { poll_interrupt(); }
  void collect() override { R_gc(); }
  const double* on_host(int) override { fail(Fault::unsupported, "data of an operand lie on a device"); }

  Result allocate(std::size_t, const Output& output, const Sizes& sizes, bool) override {
    const std::int64_t size = kept_rows(output.keep, sizes) * output.width * output.places * sizes.kept_runs();
    user_check(size == size_, Fault::shape, "the result has ", size, " numbers, and there is room for ", size_);
    const bool wants_values = output.finish.results != Results::index;
    const bool wants_numbers = output.finish.results != Results::value;
    user_check(size == 0 || ((values_ || !wants_values) && (numbers_.any() || !wants_numbers)), Fault::input, "`",
               values_ || !wants_values ? "numbers" : "values", "` is NULL, and the reduction has results for it");
    Result result;
    if (wants_values) result.values = values_;
    if (wants_numbers) result.numbers = numbers_;
    return result;
  }

 private:
  double* const values_;
  const RowNumbers numbers_;
  const std::int64_t size_;
};

OperandData operand_of(const kernweave_matrix& matrix) {
  static const double none = 0;
  user_check(matrix.rows >= 0 && matrix.columns >= 0, Fault::shape, "a matrix of ", matrix.rows, " rows and ",
             matrix.columns, " columns");
  user_check(matrix.data || matrix.rows * matrix.columns == 0, Fault::input, "the data of a matrix of ", matrix.rows,
             " rows are NULL");
  OperandData operand;
  operand.view = {matrix.data ? matrix.data : &none, matrix.rows, matrix.columns};
  return operand;
}

kernweave_matrix one_number(const double* number) { return {number, 1, 1}; }

// A formula of the rows x along i and y along j, of b along j, and of one number q.
class PairFormula {
 public:
  PairFormula(std::int64_t components, std::int64_t columns = 1) {
    x_ = leaf("x", Axis::i, components, 0);
    y_ = leaf("y", Axis::j, components, 1);
    q_ = leaf("q", Axis::param, 1, 2);
    b_ = leaf("b", Axis::j, columns, 3);
  }

  Expr read(const std::string& text, Expr r = Expr()) {
    const NameLookup scope = [&](const std::string& name) {
      return name == "x" ? x_ : name == "y" ? y_ : name == "q" ? q_ : name == "b" ? b_ : name == "r" ? r : Expr();
    };
    return parse(text, &pool_, scope, Grammar::ours).formula;
  }

  // Reduces a value over j, with the data of x, y, q and b.
  void reduce(Expr value, Red red, int places, const std::vector<kernweave_matrix>& data, int threads,
              CallerHost* host) {
    Job job;
    const Results results = red == Red::Sum ? Results::value : Results::value_index;
    job.outputs.push_back({red, value, Expr(), Keep::i, places, {results, 1, false, false, 0}});
    job.extents = {x_, y_};
    std::vector<OperandData> operands;
    for (const kernweave_matrix& each : data) operands.push_back(operand_of(each));
    Settings settings;
    settings.device = "cpu";
    settings.threads = threads;
    Execution(kept_plan(job), std::move(operands), {data[0].rows, data[1].rows, {}}, settings, host).run();
  }

 private:
  Expr leaf(const char* name, Axis axis, std::int64_t width, int operand) {
    user_check(width >= 1, Fault::shape, "`", name, "` has no columns");
    return pool_.variable({name, axis, Source::data, static_cast<int>(width), Kind::real, Axes::none(), operand});
  }

  Pool pool_;
  Expr x_, y_, q_, b_;
};

void check_alike(const kernweave_matrix& x, const kernweave_matrix& y) {
  user_check(x.columns == y.columns, Fault::shape, "points of ", x.columns, " components and points of ", y.columns);
}

// The kernels as functions of r, the squared distance divided by the square of the scale, as in R's kernel_rows.
struct NamedKernel {
  const char *name, *text;
};
constexpr NamedKernel kKernels[] = {{"gaussian", "exp(-0.5 * r)"},   {"laplacian", "exp(-sqrt(r))"},
                                    {"matern32", "matern32(3 * r)"}, {"matern52", "matern52(5 * r)"},
                                    {"cauchy", "1 / (1 + r)"},       {"inverse_multiquadric", "1 / sqrt(1 + r)"},
                                    {"energy", "-sqrt(r)"},          {"thin_plate", "0.5 * xlogx(r)"}};

const char* kernel_text(const char* name) {
  std::vector<std::string> known;
  for (const NamedKernel& kernel : kKernels) {
    if (name && kernel.name == std::string(name)) return kernel.text;
    known.emplace_back(kernel.name);
  }
  const std::string given = name ? name : "NULL", near = nearest_name(given, known);
  fail(Fault::input, "no kernel is called `", given, "`", near.empty() ? "" : "; did you mean `" + near + "`?");
}

int sum(const char* kernel, double scale, kernweave_matrix x, kernweave_matrix y, kernweave_matrix b, int threads,
        double* out, kernweave_error* error) {
  return called_from_c(error, [&] {
    const char* const text = kernel_text(kernel);
    user_check(std::isfinite(scale) && scale > 0, Fault::value, "`scale` must be a positive number, not ", scale);
    check_alike(x, y);
    user_check(b.rows == y.rows, Fault::shape, "`b` has ", b.rows, " rows, and `y` has ", y.rows);
    PairFormula formula(x.columns, b.columns);
    const Expr value = formula.read(text, formula.read("sqdist(x, y) / q"));
    const double square = scale * scale;
    CallerHost host(out, {}, x.rows * b.columns);
    formula.reduce(formula.read("r * b", value), Red::Sum, 1, {x, y, one_number(&square), b}, threads, &host);
  });
}

// --- a reduction of R -----------------------------------------------------------------------------------------------

// A plan whose operands have data, except the operands that wait. Its mark tells it from other memory.
struct PointedReduction {
  std::uint64_t mark;
  std::shared_ptr<KeptPlan> plan;
  std::vector<OperandData> operands;
  std::vector<std::size_t> waiting;
  Known known;
  Settings settings;
};
constexpr std::uint64_t kMark = 0x6b65726e77656176;

int reduce(const void* reduction, const kernweave_matrix* operands, int count, int threads, double* values,
           double* numbers, std::int64_t size, kernweave_error* error) {
  return called_from_c(error, [&] {
    const auto* const of = static_cast<const PointedReduction*>(reduction);
    user_check(of && of->mark == kMark, Fault::input,
               "no reduction: the address of what reduction_pointer() has returned in this session is needed");
    user_check(static_cast<std::size_t>(count) == of->waiting.size(), Fault::shape, "the reduction waits for ",
               of->waiting.size(), " operands, and there are ", count);
    std::vector<OperandData> all = of->operands;
    for (std::size_t k = 0; k < of->waiting.size(); ++k) all[of->waiting[k]] = operand_of(operands[k]);
    Settings settings = of->settings;
    if (threads > 0) settings.threads = threads;
    CallerHost host(values, {nullptr, numbers, NA_REAL}, size);
    Execution(of->plan, std::move(all), of->known, settings, &host).run();
  });
}

// --- neighbours -----------------------------------------------------------------------------------------------------

// The k nearest points of each row, at squared distances. If row numbers are given, no row is its own neighbour.
struct Neighbours {
  std::vector<int> index;
  std::vector<double> square;
};
Neighbours neighbours_of(const kernweave_matrix& query, const kernweave_matrix& points, int k, int threads,
                         const std::vector<int>* selves) {
  const int found = k + (selves ? 1 : 0);
  const auto rows = static_cast<std::size_t>(query.rows);
  Neighbours all{std::vector<int>(rows * found), std::vector<double>(rows * found)};
  CallerHost host(all.square.data(), {all.index.data(), nullptr, 0}, query.rows * found);
  PairFormula formula(query.columns);
  const double none = 0;
  formula.reduce(formula.read("sqdist(x, y)"), Red::KMinArgKMin, found, {query, points, one_number(&none), points},
                 threads, &host);
  if (!selves) return all;
  for (std::size_t row = 0; row < rows; ++row) {
    int at = 0;  // the place that is left out: the row's own, or the last
    while (at < k && all.index[row + rows * at] != (*selves)[row]) ++at;
    for (; at < k; ++at) {
      all.index[row + rows * at] = all.index[row + rows * (at + 1)];
      all.square[row + rows * at] = all.square[row + rows * (at + 1)];
    }
  }
  return all;
}

void check_neighbours(const kernweave_matrix& query, const kernweave_matrix& points, bool exclude_self) {
  check_alike(query, points);
  operand_of(query), operand_of(points);
  user_check(points.rows < kMostInt && query.rows < kMostInt, Fault::unsupported, "more than ", kMostInt, " points");
  user_check(!exclude_self || query.rows == points.rows, Fault::shape, "`exclude_self` is for the same points, and ",
             "there are ", query.rows, " and ", points.rows);
}

int nearest(kernweave_matrix query, kernweave_matrix points, int k, int exclude_self, int threads, int* index,
            double* distance, kernweave_error* error) {
  return called_from_c(error, [&] {
    check_neighbours(query, points, exclude_self);
    const std::int64_t others = std::max<std::int64_t>(points.rows - (exclude_self ? 1 : 0), 0);
    user_check(k >= 1 && k <= others, Fault::value, "`k` is ", k, ", and there are ", others,
               " points to be neighbours");
    if (query.rows == 0) return;
    user_check(index, Fault::input, "`index` is NULL");
    std::vector<int> selves(static_cast<std::size_t>(query.rows));
    std::iota(selves.begin(), selves.end(), 1);
    const Neighbours found = neighbours_of(query, points, k, threads, exclude_self ? &selves : nullptr);
    const std::size_t count = static_cast<std::size_t>(query.rows) * static_cast<std::size_t>(k);
    std::copy_n(found.index.begin(), count, index);
    for (std::size_t at = 0; distance && at < count; ++at) distance[at] = std::sqrt(found.square[at]);
  });
}

void count_within(const kernweave_matrix& query, const kernweave_matrix& points, double square, bool exclude_self,
                  int threads, std::int64_t* offsets) {
  std::vector<double> counts(static_cast<std::size_t>(query.rows));
  CallerHost host(counts.data(), {}, query.rows);
  PairFormula formula(query.columns);
  formula.reduce(formula.read("lazy_if(sqdist(x, y) <= q, 1, 0)"), Red::Sum, 1,
                 {query, points, one_number(&square), points}, threads, &host);
  offsets[0] = 0;
  for (std::int64_t row = 0; row < query.rows; ++row) {
    double apart = 0;  // distance from itself: NaN if a component is not finite
    for (std::int64_t c = 0; c < query.columns; ++c)
      apart += query.data[row + c * query.rows] - query.data[row + c * query.rows];
    const bool self = exclude_self && apart == 0;
    offsets[row + 1] = offsets[row] + static_cast<std::int64_t>(counts[static_cast<std::size_t>(row)]) - self;
  }
}

// Finds the neighbours of all rows that have from `least` to 2 `least` - 1 neighbours, together.
void fill_within(const kernweave_matrix& query, const kernweave_matrix& points, bool exclude_self, int threads,
                 const std::int64_t* offsets, std::int64_t least, int* index, double* distance) {
  std::vector<int> rows;
  std::int64_t most = 0;
  for (std::int64_t row = 0; row < query.rows; ++row) {
    const std::int64_t count = offsets[row + 1] - offsets[row];
    if (count < least || count >= 2 * least) continue;
    rows.push_back(static_cast<int>(row) + 1);
    most = std::max(most, count);
  }
  if (rows.empty()) return;
  std::vector<double> some;
  for (std::int64_t c = 0; c < query.columns; ++c)
    for (const int row : rows) some.push_back(query.data[row - 1 + c * query.rows]);
  const auto count = static_cast<std::int64_t>(rows.size());
  const Neighbours found = neighbours_of({some.data(), count, query.columns}, points, static_cast<int>(most), threads,
                                         exclude_self ? &rows : nullptr);
  for (std::size_t at = 0; at < rows.size(); ++at)
    for (std::int64_t to = offsets[rows[at] - 1], k = 0; to < offsets[rows[at]]; ++to, ++k) {
      const std::size_t from = at + rows.size() * static_cast<std::size_t>(k);
      index[to] = found.index[from];
      if (distance) distance[to] = std::sqrt(found.square[from]);
    }
}

int radius(kernweave_matrix query, kernweave_matrix points, double radius, int exclude_self, int threads,
           std::int64_t* offsets, int* index, double* distance, kernweave_error* error) {
  return called_from_c(error, [&] {
    check_neighbours(query, points, exclude_self);
    user_check(radius >= 0, Fault::value, "`radius` must be a number of at least 0, not ", radius);
    user_check(offsets, Fault::input, "`offsets` is NULL");
    if (!index) return count_within(query, points, radius * radius, exclude_self, threads, offsets);
    for (std::int64_t least = 1; least <= points.rows; least *= 2)
      fill_within(query, points, exclude_self, threads, offsets, least, index, distance);
  });
}

// --- arrays ---------------------------------------------------------------------------------------------------------

// Room of the caller for one array of integers.
class CallerRoom : public arrays::Results {
 public:
  explicit CallerRoom(int* room) : room_(room) {}
  Numbers numbers(const char*, Index, Index) override { return {room_, nullptr, NA_INTEGER, NA_REAL}; }
  void* items(Index) override { return room_; }
  void adopt(const char*, device::Block, Index, Kind) override {}
  void given(const char*) override {}

 private:
  int* const room_;
};

int order(const kernweave_key* keys, int count, std::int64_t rows, int threads, int* order, kernweave_error* error) {
  return called_from_c(error, [&] {
    user_check(count >= 1, Fault::shape, "there is no key to order by");
    user_check(rows >= 0 && rows <= kMostInt, Fault::unsupported, "an order of ", rows, " rows");
    if (rows == 0) return;
    arrays::OrderOf task;
    for (int k = 0; k < count; ++k) {
      user_check(!keys[k].doubles != !keys[k].integers, Fault::input, "key ", k + 1, " needs doubles or integers");
      Column column;
      column.integers = keys[k].integers;
      column.doubles = keys[k].doubles;
      column.count = rows;
      task.columns.push_back(column);
      task.decreasing.push_back(keys[k].decreasing != 0);
    }
    user_check(order, Fault::input, "`order` is NULL");
    CallerRoom room(order);
    arrays::HostVerbs(workers_from_r(threads)).order(task, room);
  });
}

int index_add(double* array, std::int64_t before, std::int64_t extent, std::int64_t after, const int* index,
              std::int64_t items, const double* source, double alpha, int threads, kernweave_error* error) {
  return called_from_c(error, [&] {
    user_check(before >= 0 && extent >= 0 && after >= 0 && items >= 0, Fault::shape, "a negative extent");
    if (items == 0 || before * after == 0) return;
    user_check(array && index && source, Fault::input, "`array`, `index` or `source` is NULL");
    const arrays::HostVerbs verbs(workers_from_r(threads));
    arrays::AddTask task;
    task.how.shape = {before, extent, after};
    task.how.steps = {1, before, before * items};
    task.mean = task.include = task.plan_alone = false;
    task.alpha = alpha;
    task.index = {index, nullptr, items};
    const Index wrong = verbs.first_not_whole(task.index, 1, static_cast<double>(extent));
    user_check(wrong == 0, Fault::index, "`index` must be numbers from 1 to ", extent, "; number ", wrong, " is ",
               wrong ? index[wrong - 1] : 0);
    verbs.index_add(task, {nullptr, source, before * items * after}, {nullptr, array, NA_INTEGER, NA_REAL});
  });
}

int api_version() { return KERNWEAVE_API; }

template <class Type>
void offer(const char* name, Type* function) {
  R_RegisterCCallable("kernweave", name, reinterpret_cast<DL_FUNC>(function));
}

}  // namespace
}  // namespace api

// Returns a pointer that keeps a reduction, from the list of engine_call() and the places, from 1, of the operands that
// wait for data.
// [[Rcpp::export(rng = false)]]
SEXP r_pointed_reduction(List call, IntegerVector waiting) {
  const Given given{call["data"], call["operands"]};
  std::vector<std::size_t> places;
  for (const int place : waiting) places.push_back(static_cast<std::size_t>(place - 1));
  const Known known = known_from_r(call["extent"], R_NilValue);
  auto* const of = new api::PointedReduction{api::kMark, plan_behind(call["plan"]),        operands_of(given), places,
                                             known,      settings_from_r(call["settings"])};
  const Shield<SEXP> pointer(R_MakeExternalPtr(of, Rf_install("kernweave_reduction"), call));
  R_RegisterCFinalizer(pointer, forget<api::PointedReduction>);
  return pointer;
}

// [[Rcpp::init]]
void offer_functions(DllInfo* dll) {
  api::offer<kernweave_api_version_type>("kernweave_api_version", api::api_version);
  api::offer<kernweave_sum_type>("kernweave_sum", api::sum);
  api::offer<kernweave_reduce_type>("kernweave_reduce", api::reduce);
  api::offer<kernweave_nearest_type>("kernweave_nearest", api::nearest);
  api::offer<kernweave_radius_type>("kernweave_radius", api::radius);
  api::offer<kernweave_order_type>("kernweave_order", api::order);
  api::offer<kernweave_index_add_type>("kernweave_index_add", api::index_add);
}

}  // namespace kernweave
