// The job as bytes, from which nothing is read back: each part has its length before it, or always the same.
#include "plan/job.hpp"

#include <type_traits>
#include <unordered_map>

namespace kernweave {
namespace {

class Key {
 public:
  template <class N>
  void add(N number) {
    static_assert(std::is_arithmetic<N>::value || std::is_enum<N>::value, "bytes of a number are the number");
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const Variable& v) {
    add(v.name);
    add(v.axis);
    add(v.source);
    add(v.width);
    add(v.kind);
    add(v.operand);
    add(v.centre);
  }
  void add_node(Expr f) {
    places_.emplace(f.get(), static_cast<int>(places_.size()));
    add(f->op);
    if (f->op == Op::Var) return add(variable(f));
    if (f->op == Op::Number) add(f->number), add(f->type.kind);
    add(f->args.size());
    for (const Node* arg : f->args) add(places_.at(arg));
    add(f->attributes.size());
    for (int a : f->attributes) add(a);
  }
  // A null formula has no place.
  void add_place(Expr f) { add(f ? places_.at(f.get()) : -1); }
  void add(const OutputFormula& o) {
    add(o.red);
    add_place(o.value);
    add_place(o.weight);
    add(o.keep);
    add(o.places);
    add(o.finish.results);
    add(o.finish.sign);
    add(o.finish.per_i);
    add(o.finish.per_j);
    add(o.finish.less);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::unordered_map<const Node*, int> places_;
};

}  // namespace

std::string job_key(const Job& job) {
  Key key;
  std::vector<Expr> roots = formulas_of(job.outputs);
  roots.insert(roots.end(), job.extents.begin(), job.extents.end());
  if (job.allowed) roots.push_back(job.allowed);
  const std::vector<Expr> nodes = reachable(roots);
  key.add(nodes.size());
  for (Expr f : nodes) key.add_node(f);
  key.add(job.outputs.size());
  for (const OutputFormula& o : job.outputs) key.add(o);
  for (Expr f : job.extents) key.add_place(f);
  for (const Format format : {job.precision.load, job.precision.compute, job.precision.accumulate}) key.add(format);
  key.add(job.pairs);
  key.add_place(job.allowed);
  key.add(job.rewrite);
  key.add(job.checks);
  return key.take();
}

}  // namespace kernweave
