// The verbs for arrays on the CPU, by the functions of this folder.
#pragma once
#include "arrays/verbs.hpp"

namespace kernweave::arrays {

class HostVerbs : public Verbs {
 public:
  explicit HostVerbs(Workers workers) : workers_(std::move(workers)) {}

#define VERB(...) __VA_ARGS__ const override;
#include "arrays/verbs.def"

  // Writes the numbers of items, group by group, from the number of each item's group.
  void group_order(const int* codes, Index n, const Whole& offsets, const Numbers& order) const;

 private:
  const Workers workers_;
};

}  // namespace kernweave::arrays
