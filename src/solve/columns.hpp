// Long columns of float64 numbers, in the memory of the host or of a device, where they stay from step to step.
// Algorithms are written once for both.
#pragma once
#include <map>
#include <memory>
#include <vector>
#include "device/copy.hpp"
#include "device/device.hpp"
#include "solve/block.hpp"
#include "kernweave/gpu/columns.hpp"

namespace kernweave::solve {

class Columns {
 public:
  Columns() = default;
  explicit Columns(Block numbers) : host_(std::move(numbers)) {}
  // Makes room for numbers, on the host if `device` is null.
  Columns(device::Device* device, Index rows, Index columns);
  // Takes over memory of a device that holds rows x columns numbers, or more.
  Columns(device::Device* device, std::unique_ptr<Copy> copy, Index rows, Index columns);
  // Refers to numbers on a device whose owner must keep them as long as these columns are used.
  Columns(device::Device* device, double* there, Index rows, Index columns)
      : device_(device), there_(there), rows_(rows), columns_(columns) {}
  Columns(const Columns& other);
  Columns& operator=(const Columns& other);
  Columns(Columns&&) = default;
  Columns& operator=(Columns&&) = default;

  Index rows() const { return device_ ? rows_ : host_.rows(); }
  Index cols() const { return device_ ? columns_ : host_.cols(); }
  Index size() const { return rows() * cols(); }

  device::Device* device() const { return device_; }  // null: the host
  const Block& block() const { return host_; }        // on the host
  // Returns the block to write to. The columns lie on the host from now on.
  Block* here();
  double* at(Index column = 0) const { return there_ + column * rows_; }  // an address of the device
  Kept* kept() const { return kept_.get(); }

  // Makes room for numbers of this shape on this device, if there is none; old numbers are lost.
  void make(device::Device* device, Index rows, Index columns);
  Block to_host() const;
  Columns sent_to(device::Device* device) const;
  // Moves the memory on the device to a new owner.
  std::unique_ptr<Copy> given_away();

 private:
  Block host_;
  device::Device* device_ = nullptr;
  std::unique_ptr<Kept> kept_;
  double* there_ = nullptr;
  Index rows_ = 0, columns_ = 0, room_ = 0;
};

// A copy on a device of constant numbers of the host; uploaded at the first use.
class SentCopy {
 public:
  template <class T>
  const T* on(device::Device* device, const T* numbers, std::size_t count) const {
    return device::address<T>(sent(device, numbers, count * sizeof(T)));
  }

 private:
  device::Pointer sent(device::Device* device, const void* numbers, std::size_t bytes) const;
  mutable std::map<device::Device*, device::Block> copies_;
};

// A number for each row.
struct RowScales {
  explicit RowScales(Vector values) : values(std::move(values)) {}
  const double* on(device::Device* device) const {
    return copy.on(device, values.data(), static_cast<std::size_t>(values.size()));
  }

  const Vector values;
  const SentCopy copy{};
};

// Some rows, counted from 0.
struct RowList {
  explicit RowList(std::vector<int> at) : at(std::move(at)) {}
  Index size() const { return static_cast<Index>(at.size()); }
  const int* on(device::Device* device) const { return copy.on(device, at.data(), at.size()); }

  const std::vector<int> at;
  const SentCopy copy{};
};

// Tells whether columns can stay on a device: their kernels need a run-time compiler.
bool columns_may_stay(int device);

Row dots(const Columns& a, const Columns& b, int threads);
inline Row norms(const Columns& a, int threads) { return dots(a, a, threads).sqrt(); }
// x += d diag(by), and x += by d.
void add_multiple(Columns* x, const Columns& d, const Row& by, int threads);
void add_multiple(Columns* x, const Columns& d, double by, int threads);
// d = z + d diag(by).
void follow(Columns* d, const Columns& z, const Row& by, int threads);
void multiply_by(Columns* x, double by);
void clear(Columns* x);  // sets all numbers to 0
// y = diag(by) x, and y += factor diag(by) x.
void scale_rows(const RowScales& by, const Columns& x, Columns* y, int threads);
void add_scaled_rows(const RowScales& by, const Columns& x, double factor, Columns* y, int threads);

Columns columns_of(const Columns& all, const std::vector<Index>& which);
Columns columns_from(const Columns& all, Index from, Index count);
// Copies column k of `from` to column c of `to`, which has as many rows.
void put_column(const Columns& from, Index k, Columns* to, Index c);

// Gathers a few rows of x on the host; scatters rows back to their places in y.
Block rows_of(const Columns& x, const RowList& which);
void put_rows(const Block& few, const RowList& which, Columns* y);

// Transposes: row k of x becomes column k of `points`, and back, for the rows of a list, or for all rows without a
// list. A sparse factor reads a point's numbers for all right-hand sides from contiguous memory.
void rows_to_points(const Columns& x, const RowList* which, Columns* points, int threads);
void points_to_rows(const Columns& points, const RowList* which, Columns* y, int threads);
// points += by x'.
void add_to_points(const Columns& x, double by, Columns* points, int threads);

// --- kernels --------------------------------------------------------------------------------------------------------
// Launches on a device of the kernels for long columns and sparse factors (kernweave/gpu/columns.hpp, factor.hpp).

// Runs the kernel of this name with one thread for each of the `count` numbers of the task.
void launch(device::Device* device, const char* kernel, const gpu::ColumnTask& task);

// Returns the source of all kernels.
const std::string& column_kernels();

}  // namespace kernweave::solve
