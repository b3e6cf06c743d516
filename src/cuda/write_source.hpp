// Writes a pass as CUDA source: straight-line code that calls functions of the table, without names or texts of users.
#pragma once
#include <algorithm>
#include <ostream>
#include <string>
#include "base/error.hpp"
#include "cuda/limits.hpp"
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// Writes kernels with the names once, columns, rows, sweep, merge and total (kernweave/gpu/sweep.hpp). Arguments have
// data of each variable of the plan and a target for each output of the pass. Equal sources are equal kernels.
std::string source_of(const Pass& pass);

// --- names ----------------------------------------------------------------------------------------------------------
// Names of values in the source: in regions outside of the pairs, and for a strip of pairs.

// Returns how far to unroll a loop over components: short loops wholly, so that indexed values stay in registers.
inline int unrolled(int width) { return width <= 128 ? width : 4; }
// Unrolls fewer components if rows are read from memory: registers hold the numbers that are read ahead.
inline int unrolled(const Pass& pass, int width) {
  return pass.lanes.any_wide() ? std::min(width, kGpuWideComponents) : unrolled(width);
}

// Names in all regions: names of the user's data, and of values that are the same for all pairs.
class Scope {
 public:
  explicit Scope(const Pass& pass) : pass_(pass) {}

 protected:
  // A component slot holds the one component that is being computed.
  std::string component(const Ref& ref, const std::string& d) const {
    const bool single =
        ref.width == 1 || (is_slot(ref) && pass_.program().slots[ref.index].region == Region::component);
    return single ? "0" : d;
  }

  // Returns the point at which a variable is read: `lane` and `sweep` are points of the two axes.
  std::string point(const Variable& v, int number, const std::string& lane, const std::string& sweep) const {
    const std::string& i = pass_.group.along_i ? lane : sweep;
    const std::string& j = pass_.group.along_i ? sweep : lane;
    switch (v.axis) {
      case Axis::i: return i;
      case Axis::j: return j;
      case Axis::param: return "0";
      case Axis::pair: return sentence(i, " + ", j, " * a.data[", number, "].rows");
      case Axis::pair_swapped: return sentence(j, " + ", i, " * a.data[", number, "].rows");
    }
    return "";
  }

  // Row numbers may themselves be read by row numbers. They are read in float64, even if pairs are in float32.
  std::string row_at(const Ref& ref, const std::string& lane, const std::string& sweep) const {
    if (ref.from == Ref::From::variable) {
      const Variable& v = pass_.plan->variables[ref.index];
      const std::string at = point(v, ref.index, lane, sweep);
      return v.source == Source::counter ? at : sentence("gpu::row_number(a.data[", ref.index, "], ", at, ")");
    }
    const Step& step = *pass_.program().maker(ref);
    return sentence("gpu::row_number(a.data[", step.in[0].index, "], ", row_at(step.in[1], lane, sweep), ")");
  }

  std::string datum(int variable, const std::string& at, const std::string& d) const {
    const Variable& v = pass_.plan->variables[variable];
    if (v.source == Source::counter) return sentence("L(static_cast<double>(", at, " + 1))");
    return sentence("gpu::read<L>(a.data[", variable, "], ", at, ", ", d, ")");
  }

  static std::string reader_of(const std::string& at, const std::string& stride, int width) {
    return sentence("Read<L>{", at, ", ", stride, ", ", width, "}");
  }

  const Pass& pass_;
};

// Names in region `param`, whose slots lie in memory that all threads read, or in the region of an axis, at point `at`.
class OnceScope : public Scope {
 public:
  static OnceScope params(const Pass& pass) { return OnceScope(pass, Region::param); }
  static OnceScope axis(const Pass& pass, Region region) { return OnceScope(pass, region); }

  Region region() const { return region_; }
  bool shared() const { return region_ == Region::param; }

  std::string value(const Ref& ref, const std::string& d) const {
    if (const Panel::PanelEntry* e = pass_.once.find(ref))
      return sentence("once[", e->at, " + ", component(ref, d), "]");
    if (is_slot(ref)) return slot(ref.index, component(ref, d));
    return datum(ref.index, point(pass_.plan->variables[ref.index], ref.index, "at", "at"), component(ref, d));
  }
  std::string slot(int slot, const std::string& d) const {
    const Panel::PanelEntry* e = pass_.once.find({Ref::From::slot, slot, 1});
    return e ? sentence("once[", e->at, " + ", d, "]") : sentence("s", slot, "[", d, "]");
  }
  std::string row_number(const Ref& ref) const { return row_at(ref, "at", "at"); }
  std::string total() const { return "total"; }

  void declare(int slot, int width, std::ostream* out) const {
    if (!shared()) *out << "L s" << slot << "[" << width << "];\n";
  }
  void declare_component(int slot, std::ostream* out) const { *out << "L s" << slot << "[1];\n"; }
  void declare_total(std::ostream* out) const { *out << "L total;\n"; }
  void each_pair(std::ostream*) const {}
  // Begins a loop over components. If all pairs share a value, the threads of a block divide its components.
  void each_component(int width, std::ostream* out) const {
    if (shared()) *out << "for (int d = threadIdx.x; d < " << width << "; d += blockDim.x) ";
    else *out << "for (int d = 0; d < " << width << "; ++d) ";
  }
  void only_one(std::ostream* out) const {
    if (shared()) *out << "if (threadIdx.x == 0)\n";
  }
  void after_step(std::ostream* out) const {
    if (shared()) *out << "__syncthreads();\n";
  }

  std::string reader(const Ref& ref, const std::string& name, std::ostream* out) const {
    if (const Panel::PanelEntry* e = pass_.once.find(ref)) return reader_of(sentence("once + ", e->at), "1", ref.width);
    if (is_slot(ref)) return reader_of(sentence("s", ref.index), "1", ref.width);
    *out << "L " << name << "[" << ref.width << "];\nfor (int d = 0; d < " << ref.width << "; ++d) " << name
         << "[d] = " << value(ref, "d") << ";\n";
    return reader_of(name, "1", ref.width);
  }

 private:
  OnceScope(const Pass& pass, Region region) : Scope(pass), region_(region) {}
  Region region_;
};

// Names for row k and column c of a strip. The components of a slot are contiguous for each pair.
class PairScope : public Scope {
 public:
  explicit PairScope(const Pass& pass) : Scope(pass) {}

  // Returns the place of column c of a strip, counted from the strip's first column.
  const char* column_at() const { return pass_.by_tiles() ? "Tile::column_at(c)" : "c"; }
  std::string value(const Ref& ref, const std::string& d) const {
    const std::string k = component(ref, d);
    if (const Panel::PanelEntry* e = pass_.once.find(ref))
      return sentence(e->wide ? "once[" : "rows.once[", e->at, " + ", k, "]");
    if (const Panel::PanelEntry* e = pass_.lanes.find(ref))
      return e->wide ? sentence("rows.wide(a, k, ", e->at, " + ", k, ")")
                     : sentence("rows.at[k][", e->at, " + ", k, "]");
    if (const Panel::PanelEntry* e = pass_.sweep.find(ref))
      return e->wide ? sentence("y_at[c][", e->at, " + ", k, "]") : sentence("y[c][", e->at, " + ", k, "]");
    if (is_slot(ref)) return slot(ref.index, k);
    return datum(ref.index, point(pass_.plan->variables[ref.index], ref.index, "rows.number[k]", "column[c]"), k);
  }
  std::string slot(int slot, const std::string& d) const { return sentence("s", slot, "[c][k][", d, "]"); }
  std::string row_number(const Ref& ref) const { return row_at(ref, "rows.number[k]", "column[c]"); }
  std::string total() const { return "total[c][k]"; }

  void declare(int slot, int width, std::ostream* out) const {
    *out << "L s" << slot << "[kColumns][kRows][" << width << "];\n";
  }
  void declare_component(int slot, std::ostream* out) const { declare(slot, 1, out); }
  void declare_total(std::ostream* out) const { *out << "L total[kColumns][kRows];\n"; }
  void each_pair(std::ostream* out) const {
    *out << "\n#pragma unroll\nfor (int c = 0; c < kColumns; ++c)\n#pragma unroll\nfor (int k = 0; k < kRows; ++k) ";
  }
  void each_component(int width, std::ostream* out) const {
    *out << "\n#pragma unroll " << unrolled(width) << "\nfor (int d = 0; d < " << width << "; ++d) ";
  }
  void only_one(std::ostream*) const {}
  void after_step(std::ostream*) const {}

  std::string reader(const Ref& ref, const std::string& name, std::ostream* out) const {
    const std::string width = sentence(ref.width);
    if (const Panel::PanelEntry* e = pass_.once.find(ref)) return reader_of(sentence("once + ", e->at), "1", ref.width);
    if (const Panel::PanelEntry* e = pass_.lanes.find(ref)) {
      if (!e->wide) return reader_of(sentence("&rows.at[k][", e->at, "]"), "1", ref.width);
      return reader_of(sentence("static_cast<const L*>(a.head.rows) + ", e->at, " * a.head.rows_held + rows.number[k]"),
                       "a.head.rows_held", ref.width);
    }
    if (const Panel::PanelEntry* e = pass_.sweep.find(ref))
      return reader_of(e->wide ? sentence("y_at[c] + ", e->at) : sentence("&y[c][", e->at, "]"), "1", ref.width);
    if (is_slot(ref)) return reader_of(sentence("s", ref.index, "[c][k]"), "1", ref.width);
    *out << "const L " << name << "[1] = {" << value(ref, "0") << "};\n";
    return reader_of(name, "1", ref.width);
  }
};

}  // namespace cuda
}  // namespace kernweave
