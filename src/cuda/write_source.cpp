// Writes the source of a pass: a struct with one function for each region. Regions differ in the memory of values and
// in their loops.
#include "cuda/write_source.hpp"

#include <sstream>

#include "base/error.hpp"
#include "cuda/cut.hpp"

namespace kernweave {
namespace cuda {
namespace {

class SourceWriter {
 public:
  explicit SourceWriter(const Pass& pass) : pass_(pass), program_(pass.program()) {}

  std::string text() {
    say("#include \"kernweave/gpu/",
        pass_.nearest        ? "nearest"
        : pass_.screen.any() ? "screen"
        : pass_.by_tiles()   ? "tile"
        : pass_.units        ? "units"
                             : "sweep",
        ".hpp\"");
    say("namespace kernweave {");
    say("struct Formula {");
    constants();
    states();
    tables();
    once();
    panel("row", pass_.lanes, product().row, OnceScope::axis(pass_, pass_.lane_region()));
    panel("column", pass_.sweep, product().column, OnceScope::axis(pass_, pass_.sweep_region()));
    if (!pass_.nearest && !pass_.screen.any()) strip();
    if (!pass_.nearest) factors();
    say("};");
    say("}");
    kernels();
    return out_.str();
  }

 private:
  const Product& product() const { return pass_.product; }

  template <class... Parts>
  void say(const Parts&... parts) {
    (void)(out_ << ... << parts);
    out_ << '\n';
  }

  void constants() {
    const LaunchShape& s = pass_.shape;
    say("using L = Scalar<", pass_.float32 ? "float" : "double", ">;");
    say("using Arguments = gpu::Arguments<", pass_.plan->variables.size(), ", ", pass_.group.outputs.size(), ">;");
    say("static constexpr int kRows = ", s.rows, ", kColumns = ", s.columns, ", kThreads = ", s.threads,
        ", kTile = ", s.tile, ", kUnroll = ", s.unroll, ";");
    say("static constexpr int kRowStride = ", s.row_stride, ", kPadding = ", s.padding, ", kParts = ", s.parts,
        ", kProduct = ", product().width, ";");
    say("static constexpr int kRowNumbers = ", std::max(pass_.lanes.narrow, 1), ", kRowTotal = ", pass_.lanes.total,
        ", kColumnNumbers = ", pass_.sweep.total, ";");
    say("static constexpr bool kNearest = ", pass_.nearest, ", kManyWeights = ", pass_.wide.any(), ";");
    if (pass_.by_tiles()) tiles();
    say("static constexpr int kOnceNumbers = ", std::max(pass_.once.narrow, 1), ";");
    say("static constexpr bool kWideRows = ", pass_.stores_rows() ? "true" : "false",
        ", kStaged = ", s.staged ? "true" : "false", ";");
  }

  void tiles() {
    const WideSum& wide = pass_.wide;
    const Panel::PanelEntry* weight = wide.any() ? pass_.sweep.find(wide.weight) : nullptr;
    say("using Tile = gpu::TileThread<gpu::", wide.any() ? "WideTile" : "PairTile", ">;");
    say("static constexpr int kBlockRows = ", pass_.shape.block_rows, ", kWide = ", wide.width,
        ", kWideAt = ", weight ? weight->at : 0, ", kWideTiles = ", wide.eights,
        ", kWidePadded = ", wide.padded_width(), ";");
    say("static constexpr bool kSoft = ", wide.softens, ", kHalves = ", pass_.halves, ";");
  }

  // Writes the constants of a screen: its list, and the places of its points.
  void screen_constants(const Product& screened, const std::string& fold) {
    say("using Near = ", fold, ";");
    say("static constexpr int kRowAt = ", pass_.lanes.find(screened.row)->at,
        ", kColumnAt = ", pass_.sweep.find(screened.column)->at, ";");
    if (pass_.screen.any())
      say("static constexpr int kScreened = ", screened.width, ", kSquareAt = ", pass_.square_at, ";");
  }

  // Returns the type of a state. Short lists lie in registers: their size is a constant of the type.
  std::string state_of(std::size_t k) const {
    const Output& o = pass_.variant->outputs[pass_.group.outputs[k]];
    return is_short_list(o) ? sentence("List", k) : sentence("red::", row(o.red).name);
  }

  std::string fold_of(std::size_t k) const {
    const Output& o = pass_.variant->outputs[pass_.group.outputs[k]];
    return sentence("gpu::Fold<", state_of(k), ", L::Number, ", counts_in(o), ", ", o.width, ", ", o.places, ">");
  }

  const char* counts_in(const Output& o) const {
    return pass_.shape.few_columns && o.keep != Keep::none ? "int" : "Index";
  }

  void states() {
    for (std::size_t k = 0; k < pass_.group.outputs.size(); ++k) {
      const Output& o = pass_.variant->outputs[pass_.group.outputs[k]];
      if (is_short_list(o))
        say("template <class M> using List", k, " = red::", row(o.red).name, "Of<M, ", o.places, ">;");
    }
    say("struct States {");
    std::string inits, each, types;
    for (std::size_t k = 0; k < pass_.group.outputs.size(); ++k) {
      if (pass_.pairwise(pass_.group.outputs[k])) continue;
      const Output& o = pass_.variant->outputs[pass_.group.outputs[k]];
      const std::string fold = fold_of(k);
      say("static_assert(sizeof(", fold, "::Row) == ", state_bytes(pass_, o), ", \"a state has the host's size\");");
      const std::string place = sentence("gpu::Place<", k, ", ", o.keep == Keep::none ? "true" : "false", ">()");
      types += sentence("f(gpu::Type<", fold, ">(), ", place, "); ");
      if (pass_.wide.any()) continue;
      say(fold, " o", k, "[kRows];");
      inits += sentence("o", k, "[k].init(); ");
      each += sentence("f(o", k, ", ", place, "); ");
    }
    say("__device__ void init() {\n#pragma unroll");
    say("for (int k = 0; k < kRows; ++k) { ", inits, "}\n}");
    say("template <class F> __device__ void each(F f) { ", each, "}");
    say("template <class F> static __device__ void each_type(F f) { ", types, "}");
    say("};");
    if (pass_.nearest || pass_.screen.any()) screen_constants(pass_.nearest ? product() : pass_.screen, fold_of(0));
  }

  // Writes the tables that pairs read: each thread finds the order of each table once.
  void tables() {
    std::string members, reads;
    program_.for_each_step(Region::pair, pass_.needed, [&](const Step& step) {
      if (!row(step.op).looks_up) return;
      members += sentence("radial::OrderReader<L, true> t", step.out, "; ");
      reads += sentence("t", step.out, " = radial::OrderReader<L, true>::of(Read<L>{once + ",
                        pass_.once.find(step.in[1])->at, ", 1, ", step.in[1].width, "}, ", step.attributes[0], "); ");
    });
    say("struct Tables { ", members, "__device__ void read(const L* once) { (void)once; ", reads, "} };");
  }

  void once() {
    const OnceScope scope = OnceScope::params(pass_);
    say("static __device__ void once(const Arguments& a) {");
    say("L* const once = static_cast<L*>(a.head.once);");
    say("(void)once;");
    for (const Panel::PanelEntry& e : pass_.once.entries) {
      if (e.ref.from == Ref::From::number)
        say("if (threadIdx.x == 0) once[", e.at, "] = L(a.head.numbers[", e.ref.index, "]);");
      if (e.ref.from == Ref::From::variable)
        say("for (int d = threadIdx.x; d < ", e.ref.width, "; d += blockDim.x) once[", e.at,
            " + d] = gpu::read<L>(a.data[", e.ref.index, "], 0, d);");
    }
    say("__syncthreads();");
    steps(Region::param, scope);
    say("}");
  }

  // Writes a function that computes the numbers of point `at` of an axis that pairs read, and passes each number to
  // `out`; then the axis's side of the product.
  void panel(const char* name, const Panel& panel, const Ref& side, const OnceScope& scope) {
    say("template <class Out> static __device__ void ", name, "(const Arguments& a, long long at, Out out) {");
    say("const L* const once = static_cast<const L*>(a.head.once);");
    say("(void)once;");
    steps(scope.region(), scope);
    for (const Panel::PanelEntry& e : panel.entries) {
      unroll(e.ref.width);
      say("for (int d = 0; d < ", e.ref.width, "; ++d) out(", e.at, " + d, ", scope.value(e.ref, "d"), ");");
    }
    const bool screened = pass_.screen.any() && &panel == &pass_.sweep;
    for (int place : panel.gaps())
      if (!screened || place != pass_.square_at) say("out(", place, ", L(0.0));");
    if (screened) square(scope);
    if (product().any())  // unrolled so that gpu::StepsOfPoint has its numbers in registers
      say("#pragma unroll ", 2 * gpu::kProductDepth, "\nfor (int d = 0; d < ", product().width, "; ++d) out(",
          panel.total, " + d, ", scope.value(side, "d"), ");");
    say("}");
  }

  // Writes the square of a column that is screened.
  void square(const OnceScope& scope) {
    say("L sum(0.0);");
    say("for (int d = 0; d < kScreened; ++d) sum = sum + square(", scope.value(pass_.screen.column, "d"), ");");
    say("out(kSquareAt, L::of(gpu::least_square(a.head, sum.v, gpu::kScreenError<kScreened>)));");
  }

  void strip() {
    const PairScope scope(pass_);
    say("static __device__ __forceinline__ void strip(const Arguments& a, const gpu::Rows<Formula>& rows, const L* "
        "tile, long long first, int left, States& states",
        pass_.by_tiles() ? ", const L (&product)[kColumns][kRows], L (&terms)[kColumns][kRows]" : "", ") {");
    say("const L* const once = static_cast<const L*>(a.head.once);");
    say("const L* y_at[kColumns];");
    say("long long column[kColumns];");
    say("L y[kColumns][", std::max(pass_.sweep.narrow, 1), "];");
    say("(void)once; (void)states; (void)column;\n#pragma unroll");
    say("for (int c = 0; c < kColumns; ++c) {");
    say("column[c] = gpu::least(first + ", scope.column_at(), ", a.head.sweep - 1);");
    say("y_at[c] = tile + ", scope.column_at(), " * kColumnNumbers;");
    if (pass_.sweep.narrow > 0) say("gpu::load<", pass_.sweep.narrow, ">(y_at[c], y[c]);");
    say("}");
    steps(Region::pair, scope);
    for (std::size_t k = 0; k < pass_.group.outputs.size(); ++k) output(k, scope);
    say("}");
  }

  // Writes the factors of the sums of row k of a thread.
  void factors() {
    const PairScope scope(pass_);
    std::string any = "false";
    for (std::size_t n = 0; n < pass_.group.outputs.size(); ++n)
      if (pass_.epilogues[n]) any += sentence(" || kOutput == ", n);
    say("template <int kOutput> static __device__ constexpr bool in_front() { return ", any, "; }");
    say("template <int kOutput> static __device__ L factor(const Arguments& a, const gpu::Rows<Formula>& rows, int k) "
        "{");
    for (std::size_t n = 0; n < pass_.group.outputs.size(); ++n)
      if (pass_.epilogues[n])
        say("if constexpr (kOutput == ", n, ") return ", scope.value(pass_.epilogues[n]->factor, "0"), ";");
    say("return L(1.0);");
    say("}");
  }

  void output(std::size_t k, const PairScope& scope) {
    const Output& o = pass_.variant->outputs[pass_.group.outputs[k]];
    const std::string value = scope.value(pass_.value(k), "w"), weight = scope.value(o.weight, "w");
    if (o.keep == Keep::both) {
      say("for (int c = 0; c < kColumns && c < left; ++c) for (int k = 0; k < kRows; ++k) for (int w = 0; w < ",
          o.width, "; ++w)");
      say("gpu::write_pair<", state_of(k), ", ", o.places, ">(", value, ", ", weight, ", a.targets[", k,
          "], rows.number[k], column[c], rows.number[k] + column[c] * a.head.lanes, w);");
      return;
    }
    if (pass_.wide.any()) {
      scope.each_pair(&out_);
      say("terms[c][k] = c < left ? ", scope.value(pass_.value(k), "0"), " : ",
          pass_.wide.softens ? "-infinity<L>();" : "L(0.0);");
      return;
    }
    const std::string column = sentence("first + ", scope.column_at()),
                      index = o.keep == Keep::none ? "rows.number[k] + (" + column + ") * a.head.lanes" : column;
    say("gpu::take<kColumns>(states.o", k, ", left, [&](int c, int k, int w) { return ", value,
        "; }, [&](int c, int k, int w) { return ", weight, "; }, [&](int c, int k) { return ", index, " + 1; });");
  }

  void unroll(int width) { say("#pragma unroll ", unrolled(width)); }

  // --- steps --------------------------------------------------------------------------------------------

  template <class Scope>
  void steps(Region region, const Scope& scope) {
    program_.for_each_step(region, pass_.needed, [&](const Step& step) {
      const Ref* const sum = started(step);
      if (program_.number(step) == product().step) assign(step, "product[c][k]", scope);
      else if (sum) assign(step, scope.value(*sum, "0"), scope);
      else if (step.group < 0) one_step(step, scope);
      else fold(program_.groups[step.group], scope);
      scope.after_step(&out_);
    });
  }

  // Returns the fold that starts with the other summand of this addition; null for no such fold, or on tensor cores.
  const Ref* started(const Step& step) const {
    const Ref* const sum = program_.started(step);
    return sum && program_.number(*program_.maker(*sum)) == product().step ? nullptr : sum;
  }

  // Assigns a value that has been computed.
  template <class Scope>
  void assign(const Step& step, const std::string& value, const Scope& scope) {
    scope.declare(step.out, 1, &out_);
    scope.each_pair(&out_);
    say(scope.slot(step.out, "0"), " = ", value, ";");
  }

  template <class Scope>
  void one_step(const Step& step, const Scope& scope) {
    const OpRow& r = row(step.op);
    if (step.op == Op::Gather) return gather(step, scope);
    if (r.form == Form::fold)
      return fold({-1, static_cast<int>(&step - program_.steps.data()), fold_width(step)}, scope);
    scope.declare(step.out, step.width, &out_);
    if (r.looks_up && step.region == Region::pair) return look_up(step, scope);
    if (r.form == Form::loop) return loop(step, scope);
    scope.each_pair(&out_);
    scope.each_component(step.width, &out_);
    say(scope.slot(step.out, "d"), " = ", eval(step, scope), ";");
  }

  template <class Scope>
  std::string eval(const Step& step, const Scope& scope) const {
    return sentence("op::", row(step.op).name, "::eval(", arguments(step, scope), ")");
  }

  template <class Scope>
  std::string arguments(const Step& step, const Scope& scope) const {
    std::string out;
    for (const Ref& ref : step.in) out += (out.empty() ? "" : ", ") + scope.value(ref, "d");
    return out;
  }

  template <class Scope>
  void gather(const Step& step, const Scope& scope) {
    scope.declare(step.out, step.width, &out_);
    scope.each_pair(&out_);
    scope.each_component(step.width, &out_);
    say(scope.slot(step.out, "d"), " = gpu::read<L>(a.data[", step.in[0].index, "], ", scope.row_number(step.in[1]),
        ", d);");
  }

  // The steps of a group run once per component, then the fold takes its term.
  template <class Scope>
  void fold(const Group& group, const Scope& scope) {
    const Step& last = program_.steps[group.last];
    const std::string op = sentence("op::", row(last.op).name);
    scope.declare(last.out, 1, &out_);
    scope.only_one(&out_);
    say("{");
    scope.declare_total(&out_);
    scope.each_pair(&out_);
    say(scope.total(), " = ", last.start ? scope.value(*last.start, "0") : op + "::start<L>()", ";");
    say("#pragma unroll ", unrolled(pass_, group.width));
    say("for (int d = 0; d < ", group.width, "; ++d) {");
    for (int s = group.first; s >= 0 && s < group.last; ++s) {
      const Step& step = program_.steps[s];
      scope.declare_component(step.out, &out_);
      scope.each_pair(&out_);
      say(scope.slot(step.out, "0"), " = ", eval(step, scope), ";");
    }
    scope.each_pair(&out_);
    say(scope.total(), " = ", op, "::next(", scope.total(), ", ", arguments(last, scope), ");");
    say("}");
    scope.each_pair(&out_);
    say(scope.slot(last.out, "0"), " = ", scope.total(), ";");
    say("}");
  }

  template <class Scope>
  void look_up(const Step& step, const Scope& scope) {
    scope.each_pair(&out_);
    say(scope.slot(step.out, "0"), " = rows.tables.t", step.out, "(", scope.value(step.in[0], "0"), ");");
  }

  template <class Scope>
  void loop(const Step& step, const Scope& scope) {
    scope.only_one(&out_);
    scope.each_pair(&out_);
    say("{");
    std::string reads;
    for (std::size_t k = 0; k < step.in.size(); ++k) reads += scope.reader(step.in[k], sentence("v", k), &out_) + ", ";
    std::string attributes;
    for (int a : step.attributes) attributes += sentence(attributes.empty() ? "" : ", ", a);
    say("const int attributes[] = {", attributes.empty() ? "0" : attributes, "};");
    say("op::", row(step.op).name, "::loop(", reads, "&", scope.slot(step.out, "0"), ", ", step.width,
        ", attributes);");
    say("}");
  }

  // Writes a kernel for at most `threads` threads a block. The arguments of many runs are an array.
  void kernel(const char* name, const char* threads, const std::string& call) {
    say("extern \"C\" __global__ void __launch_bounds__(", threads, ") ", name,
        pass_.batched ? "(const kernweave::Formula::Arguments* runs) { const auto& a = runs[blockIdx.z]; "
                      : "(const __grid_constant__ kernweave::Formula::Arguments a) { ",
        "kernweave::", call, "; }");
  }

  void kernels() {
    const std::string of_formula = "<kernweave::Formula>(a)";
    kernel("once", "256", "Formula::once(a)");
    kernel("columns", "256", "gpu::columns" + of_formula);
    if (pass_.stores_rows()) kernel("rows", "256", "gpu::rows" + of_formula);
    if (product().any()) {
      kernel("packed_rows", "256", "gpu::packed_rows" + of_formula);
      kernel("packed_columns", "256", "gpu::packed_columns" + of_formula);
    }
    if (pass_.wide.any()) kernel("packed_weights", "256", "gpu::packed_weights" + of_formula);
    // Two blocks for each multiprocessor, so that one computes while the other waits.
    if (pass_.by_tiles())
      kernel("sweep", "kernweave::Formula::kThreads, 2",
             (pass_.nearest ? "gpu::sweep_nearest" : "gpu::sweep_tiles") + of_formula);
    else
      kernel("sweep", "kernweave::Formula::kThreads",
             (pass_.screen.any() ? "gpu::sweep_screened"
              : pass_.units      ? "gpu::sweep_units"
                                 : "gpu::sweep") +
                 of_formula);
    kernel("merge", "256", (pass_.units ? "gpu::merge_units" : "gpu::merge") + of_formula);
    if (pass_.folds_all()) kernel("total", "kernweave::Formula::kThreads", "gpu::total" + of_formula);
  }

  const Pass& pass_;
  const Program& program_;
  std::ostringstream out_;
};

}  // namespace

std::string source_of(const Pass& pass) { return SourceWriter(pass).text(); }

}  // namespace cuda
}  // namespace kernweave
