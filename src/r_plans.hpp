// The plans of this session: a formula that was reduced a while ago is not planned again, whatever its data.
#pragma once
#include <map>
#include <memory>
#include <utility>
#include "plan/job.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// A plan that is run again and again, and what back ends remember of it and of its steps.
struct Prepared {
  const Plan plan;
  std::map<std::pair<const Plan*, const Backend*>, std::unique_ptr<Memo>> memos;
};

std::shared_ptr<Prepared> prepared(const Job& job);

}  // namespace kernweave
