// Instructions as a chain of calls: what lies at a place is named by the call that found it.
#include "cuda/whole.hpp"

#include <algorithm>
#include <map>

#include "expr/table.hpp"

namespace kernweave {
namespace cuda {
namespace {

using gpu::From;
using gpu::Instruction;
using gpu::kOfColumn;
using gpu::kOfRow;
using gpu::kOnce;
using gpu::Kind;
using gpu::Of;
using gpu::Operand;
using gpu::Plus;
using gpu::Times;
using gpu::Use;

struct CallRow {
  Op op;
  int x, y;
};

struct Whole {
  const char* name;
  Op fold;
  Red reduction;
  std::vector<CallRow> calls;
};

template <class... Calls>
std::vector<CallRow> calls_of(gpu::Chain<Calls...>) {
  return {CallRow{Calls::kOp, Calls::kX, Calls::kY}...};
}

const std::vector<Whole>& wholes() {
  static const std::vector<Whole>& all = *new std::vector<Whole>{
#define WHOLE(name, fold, reduction, ...) {#name, Op::fold, Red::reduction, calls_of(gpu::Chain<__VA_ARGS__>())},
#include "kernweave/gpu/wholes.def"
  };
  return all;
}

// The chain of a program, if it is one: a fold of a row and a column, calls with one result each, one term.
class Reader {
 public:
  explicit Reader(const std::vector<Instruction>& program) : program_(program) {}

  bool read(Whole* found) {
    if (program_.size() < 3 || !is_fold(program_.front())) return false;
    found->fold = static_cast<Op>(program_.front().code);
    note(program_.front());
    const std::size_t last = program_.size() - 2;  // before the end
    for (std::size_t k = 1; k < last; ++k)
      if (!call(program_[k], &found->calls)) return false;
    found->reduction = static_cast<Red>(program_[last].code);
    return is_term(program_[last]);
  }

 private:
  static constexpr int kOther = -100;
  // Each is a way through the pairs of its own: ten took 43 ms where one took 4, but a hundred 5.3 s, since each block stages the weights of
  // all (1e5 x 1e5 points of three components, H100). Of wide points the way is long: one weight took 72 ms for fifty components, followed 198.
  static constexpr int kFewComponents = 10, kMostWeights = 16, kMostOfWide = 2;

  static bool is_fold(const Instruction& i) {
    const bool runs = i.width == 1 || (i.in[1].step == 1 && i.in[2].step == 1);
    return i.kind == Kind::fold && i.in[0].from == From::literal && i.in[1].from == From::row && i.in[2].from == From::tile && runs;
  }
  bool is_term(const Instruction& i) const {
    const From weight = i.in[1].from;
    const int most = program_.front().width <= kFewComponents ? kMostWeights : kMostOfWide;
    return i.kind == Kind::term && i.use != Use::kept && i.width <= most && i.in[0].step == 0 && argument(i.in[0]) == found_ &&
           (weight == From::tile || weight == From::once || weight == From::literal);
  }
  bool call(const Instruction& i, std::vector<CallRow>* calls) {
    if (i.kind != Kind::element || i.width != 1 || i.in[2].from != From::none) return false;
    calls->push_back({static_cast<Op>(i.code), argument(i.in[0]), argument(i.in[1])});
    ++found_;
    note(i);
    return calls->back().x != kOther && calls->back().y != kOther;
  }
  void note(const Instruction& i) {
    if (i.use == Use::stored) stored_[i.out] = found_;
  }
  int argument(const Operand& o) const {
    switch (o.from) {
      case From::none: return gpu::kNothing;
      case From::literal: case From::once: return kOnce;
      case From::row: return kOfRow;
      case From::tile: return kOfColumn;
      case From::strip: return found_;
      case From::own: return stored_.count(o.at) > 0 ? stored_.at(o.at) : kOther;
      default: return kOther;
    }
  }

  const std::vector<Instruction>& program_;
  int found_ = 0;              // the number of what has been found last
  std::map<int, int> stored_;  // what lies at a place
};

bool same(const CallRow& a, const CallRow& b) {
  if (a.op != b.op) return false;
  return (a.x == b.x && a.y == b.y) || (row(a.op).commutes && a.x == b.y && a.y == b.x);
}

bool same(const Whole& a, const Whole& b) {
  return a.fold == b.fold && a.reduction == b.reduction && a.calls.size() == b.calls.size() &&
         std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), [](const CallRow& x, const CallRow& y) { return same(x, y); });
}

}  // namespace

const char* whole_of(const std::vector<Instruction>& pairs) {
  Whole read{};
  if (!Reader(pairs).read(&read)) return nullptr;
  const auto at = std::find_if(wholes().begin(), wholes().end(), [&](const Whole& w) { return same(w, read); });
  return at == wholes().end() ? nullptr : at->name;
}

}  // namespace cuda
}  // namespace kernweave
