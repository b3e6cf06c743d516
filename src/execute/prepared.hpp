// Plans of this session and what back ends have made of them, under one key: that of the job, then of the schedule.
#pragma once
#include <list>
#include <memory>
#include <string>
#include "plan/job.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// A plan that is run again and again.
class Prepared {
 public:
  explicit Prepared(Plan plan) : plan(std::move(plan)) {}

  // What runs `step`, this plan or one of its stages, as scheduled: made once for all runs of the same schedule.
  std::shared_ptr<Executable> executable(const Plan& step, const Schedule& schedule);

  int executables() const { return static_cast<int>(made_.size()); }

  const Plan plan;

 private:
  struct Made {
    const Plan* step;
    std::string model;
    Schedule schedule;
    std::shared_ptr<Executable> executable;
  };
  std::list<Made> made_;  // the latest first
};

// A formula that was reduced a while ago is not planned again, whatever its data.
std::shared_ptr<Prepared> prepared(const Job& job);

}  // namespace kernweave
