// Loops over long columns: by threads on the host, by kernels on a device.
#include "solve/columns.hpp"

#include "base/error.hpp"
#include "device/driver.hpp"
#include "device/device.hpp"
#include "device/nvrtc.hpp"

namespace kernweave::solve {
namespace {

using device::Device;
using gpu::ColumnTask;

constexpr Index kParts = 4096;      // partial sums of a column: enough threads to read at the memory's bandwidth
constexpr Index kLastParts = 64;    // partial sums that the host adds up

ColumnTask task_of(const Columns& out) {
  ColumnTask task{};
  task.count = out.size();
  task.rows = out.rows();
  task.columns = out.cols();
  task.out = out.at();
  return task;
}

// out = x + y diag(by), some columns at a time.
void weigh(const Columns* x, const Columns* y, const Row& by, const Columns& out) {
  for (Index from = 0; from < out.cols(); from += gpu::kColumnFactors) {
    const Index count = std::min<Index>(gpu::kColumnFactors, out.cols() - from);
    ColumnTask task = task_of(out);
    task.count = count * out.rows();
    task.x = x ? x->at(from) : nullptr;
    task.y = y ? y->at(from) : nullptr;
    task.out = out.at(from);
    for (Index k = 0; k < count; ++k) task.by[k] = by[from + k];
    launch(out.device(), "weighed_sum", task);
  }
}

Row same(const Columns& x, double by) { return Row::Constant(x.cols(), by); }

// Adds up contiguous parts of each column, so that `fewer` sums of each column remain.
Columns summed(const Columns& parts, Index fewer) {
  Columns sums(parts.device(), fewer, parts.cols());
  ColumnTask task = task_of(sums);
  task.rows = parts.rows();
  task.parts = fewer;
  task.x = parts.at();
  launch(sums.device(), "partial_sums", task);
  return sums;
}

Row dots_gpu(const Columns& a, const Columns& b) {
  Columns parts(a.device(), kParts, a.cols());
  ColumnTask task = task_of(parts);
  task.rows = a.rows();
  task.parts = kParts;
  task.x = a.at();
  task.y = b.at();
  launch(a.device(), "partial_dots", task);
  return summed(parts, kLastParts).to_host().colwise().sum().transpose().array();
}

// The strides of rows and columns in memory: either columns lie one after the other, or points do.
struct Strides {
  long long row, column;
};

Strides by_columns(const Columns& x) { return {1, x.rows()}; }
Strides by_points(const Columns& x) { return {x.rows(), 1}; }

void move(const Columns& x, const RowList* x_at, const Strides& from, const Columns& out, const RowList* out_at,
          const Strides& to, Index rows, Index columns, const double* add_to = nullptr, double by = 1) {
  ColumnTask task{};
  task.count = rows * columns;
  task.rows = rows;
  task.columns = columns;
  task.x = x.at();
  task.y = add_to;
  task.out = out.at();
  task.x_at = x_at ? x_at->on(x.device()) : nullptr;
  task.out_at = out_at ? out_at->on(x.device()) : nullptr;
  task.x_row = from.row;
  task.x_column = from.column;
  task.out_row = to.row;
  task.out_column = to.column;
  task.by[0] = by;
  launch(x.device(), "moved", task);
}

Index row_at(const RowList* which, Index k) { return which ? which->at[static_cast<std::size_t>(k)] : k; }

void together(const Columns& a, const Columns& b) { internal_check(a.device() == b.device(), "columns in two places"); }

}  // namespace

// --- memory ---

Columns::Columns(Device* device, Index rows, Index columns) { make(device, rows, columns); }

Columns::Columns(Device* device, std::unique_ptr<Copy> copy, Index rows, Index columns)
    : device_(device), kept_(std::make_unique<Kept>()), rows_(rows), columns_(columns), room_(rows * columns) {
  kept_->copies[device->number()] = std::move(copy);
  there_ = device::address<double>(device::kept_copy({nullptr, rows, columns, kept_.get()}, device));
}

Columns::Columns(const Columns& other) { *this = other; }

Columns& Columns::operator=(const Columns& other) {
  if (this == &other) return *this;
  make(other.device_, other.rows(), other.cols());
  if (device_) weigh(&other, nullptr, same(other, 0), *this);
  else host_ = other.host_;
  return *this;
}

Block* Columns::here() {
  if (device_) *this = Columns();
  return &host_;
}

void Columns::make(Device* device, Index rows, Index columns) {
  if (!device) {
    here()->resize(rows, columns);
    return;
  }
  if (device == device_ && rows * columns <= room_) {
    rows_ = rows;
    columns_ = columns;
    return;
  }
  *this = Columns();
  device->enter();
  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(double);
  *this = Columns(device, device::copy_in(device, device->allocate(bytes, "the vectors")), rows, columns);
}

Block Columns::to_host() const {
  if (!device_) return host_;
  Block numbers(rows_, columns_);
  device_->enter();
  device_->download(numbers.data(), static_cast<device::Pointer>(reinterpret_cast<std::uintptr_t>(there_)),
                    static_cast<std::size_t>(size()) * sizeof(double));
  return numbers;
}

Columns Columns::sent_to(Device* device) const {
  if (device == device_) return *this;
  if (!device) return Columns(to_host());
  if (device_) return Columns(to_host()).sent_to(device);
  Columns there(device, host_.rows(), host_.cols());
  device->upload(static_cast<device::Pointer>(reinterpret_cast<std::uintptr_t>(there.there_)), host_.data(),
                 static_cast<std::size_t>(host_.size()) * sizeof(double));
  return there;
}

std::unique_ptr<Copy> Columns::given_away() {
  std::unique_ptr<Copy> copy = std::move(kept_->copies[device_->number()]);
  *this = Columns();
  return copy;
}

device::Pointer SentCopy::sent(Device* device, const void* numbers, std::size_t bytes) const {
  const auto found = copies_.find(device);
  if (found != copies_.end()) return found->second.at();
  device->enter();
  device::Block block = device->allocate(bytes, "what a solver keeps");
  device->upload(block.at(), numbers, bytes);
  return copies_.emplace(device, std::move(block)).first->second.at();
}

bool columns_may_stay(int number) { return device::compiler().found && device::probe(number).yes; }

// --- work ---

Row dots(const Columns& a, const Columns& b, int threads) {
  together(a, b);
  return a.device() ? dots_gpu(a, b) : dots(a.block(), b.block(), threads);
}

void add_multiple(Columns* x, const Columns& d, const Row& by, int threads) {
  together(*x, d);
  if (x->device()) weigh(x, &d, by, *x);
  else add_multiple(x->here(), d.block(), by, threads);
}

void add_multiple(Columns* x, const Columns& d, double by, int threads) { add_multiple(x, d, same(d, by), threads); }

void follow(Columns* d, const Columns& z, const Row& by, int threads) {
  together(*d, z);
  if (d->device()) weigh(&z, d, by, *d);
  else follow(d->here(), z.block(), by, threads);
}

void multiply_by(Columns* x, double by) {
  if (x->device()) weigh(nullptr, x, same(*x, by), *x);
  else *x->here() *= by;
}

void clear(Columns* x) {
  if (x->device()) weigh(nullptr, nullptr, same(*x, 0), *x);
  else x->here()->setZero();
}

void scale_rows(const RowScales& by, const Columns& x, Columns* y, int threads) {
  if (!x.device()) return scale_rows(by.values, x.block(), y->here(), threads);
  y->make(x.device(), x.rows(), x.cols());
  ColumnTask task = task_of(*y);
  task.y = x.at();
  task.values = by.on(x.device());
  task.by[0] = 1;
  launch(x.device(), "scaled_rows", task);
}

void add_scaled_rows(const RowScales& by, const Columns& x, double factor, Columns* y, int threads) {
  together(x, *y);
  if (!x.device()) return add_scaled_rows(by.values, x.block(), factor, y->here(), threads);
  ColumnTask task = task_of(*y);
  task.x = y->at();
  task.y = x.at();
  task.values = by.on(x.device());
  task.by[0] = factor;
  launch(x.device(), "scaled_rows", task);
}

// --- choosing ---

Columns columns_of(const Columns& all, const std::vector<Index>& which) {
  if (!all.device()) return Columns(columns_of(all.block(), which));
  Columns some(all.device(), all.rows(), static_cast<Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) put_column(all, which[k], &some, static_cast<Index>(k));
  return some;
}

Columns columns_from(const Columns& all, Index from, Index count) {
  if (!all.device()) return Columns(Block(all.block().middleCols(from, count)));
  Columns some(all.device(), all.rows(), count);
  ColumnTask task = task_of(some);
  task.x = all.at(from);
  launch(all.device(), "weighed_sum", task);
  return some;
}

void put_column(const Columns& from, Index k, Columns* to, Index c) {
  together(from, *to);
  if (!from.device()) {
    to->here()->col(c) = from.block().col(k);
    return;
  }
  ColumnTask task = task_of(*to);
  task.count = to->rows();
  task.x = from.at(k);
  task.out = to->at(c);
  launch(from.device(), "weighed_sum", task);
}

Block rows_of(const Columns& x, const RowList& which) {
  Block few(which.size(), x.cols());
  if (!x.device()) {
    for (Index k = 0; k < few.rows(); ++k) few.row(k) = x.block().row(row_at(&which, k));
    return few;
  }
  if (few.size() == 0) return few;
  const Columns there(x.device(), few.rows(), few.cols());
  move(x, &which, by_columns(x), there, nullptr, by_columns(there), few.rows(), few.cols());
  return there.to_host();
}

void put_rows(const Block& few, const RowList& which, Columns* y) {
  if (!y->device()) {
    for (Index k = 0; k < few.rows(); ++k) y->here()->row(row_at(&which, k)) = few.row(k);
    return;
  }
  if (few.size() == 0) return;
  const Columns there = Columns(few).sent_to(y->device());
  move(there, nullptr, by_columns(there), *y, &which, by_columns(*y), few.rows(), few.cols());
}

void rows_to_points(const Columns& x, const RowList* which, Columns* points, int threads) {
  const Index rows = which ? which->size() : x.rows();
  points->make(x.device(), x.cols(), rows);
  if (x.device()) return move(x, which, by_columns(x), *points, nullptr, by_points(*points), rows, x.cols());
  Block* const to = points->here();
  each_piece(rows, x.cols(), threads, [&](Index first, Index last, Index) {
    for (Index k = first; k < last; ++k) to->col(k) = x.block().row(row_at(which, k)).transpose();
  });
}

void points_to_rows(const Columns& points, const RowList* which, Columns* y, int threads) {
  if (!which) y->make(points.device(), points.cols(), points.rows());
  together(points, *y);
  if (points.device())
    return move(points, nullptr, by_points(points), *y, which, by_columns(*y), points.cols(), points.rows());
  Block* const to = y->here();
  each_piece(points.cols(), points.rows(), threads, [&](Index first, Index last, Index) {
    for (Index k = first; k < last; ++k) to->row(row_at(which, k)) = points.block().col(k).transpose();
  });
}

void add_to_points(const Columns& x, double by, Columns* points, int threads) {
  together(x, *points);
  if (x.device())
    return move(x, nullptr, by_columns(x), *points, nullptr, by_points(*points), x.rows(), x.cols(), points->at(), by);
  Block* const to = points->here();
  each_piece(x.rows(), x.cols(), threads, [&](Index first, Index last, Index) {
    to->middleCols(first, last - first) += by * x.block().middleRows(first, last - first).transpose();
  });
}

// --- kernels --------------------------------------------------------------------------------------------------------
// One source for all kernels, compiled at run time.

const std::string& column_kernels() {
  static const std::string text = device::text_for_each(
      "factor.hpp", "ColumnTask",
      {"weighed_sum", "scaled_rows", "moved", "partial_dots", "partial_sums", "factor_by_columns",
       "factor_by_rows", "listed_pairs", "forward_rows", "entries_left", "last_columns"});
  return text;
}

void launch(device::Device* device, const char* kernel, const gpu::ColumnTask& task) {
  device::launch_for_each(device, column_kernels(), kernel, task);
}

}  // namespace kernweave::solve
