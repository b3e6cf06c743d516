// The last plans asked for, the latest first. R runs on one thread, so nothing is locked.
#include "r_plans.hpp"

#include <list>
#include <string>
#include <unordered_map>

#include "plan/lower.hpp"

namespace kernweave {
namespace {

// A plan takes some kilobytes; a loop that reduces more formulas than this in turn plans each of them anew.
constexpr std::size_t kPlans = 128;
// Nor is a formula of thousands of operations kept, whose planning is little beside its run.
constexpr std::size_t kLongestKey = 1 << 16;

struct Entry {
  std::string key;
  std::shared_ptr<Prepared> plan;
};

}  // namespace

std::shared_ptr<Prepared> prepared(const Job& job) {
  static std::list<Entry> latest;
  static std::unordered_map<std::string, std::list<Entry>::iterator> known;
  const std::string key = job_key(job);
  const auto found = known.find(key);
  if (found != known.end()) {
    latest.splice(latest.begin(), latest, found->second);
    return latest.front().plan;
  }
  const auto made = std::make_shared<Prepared>(Prepared{lower(job), {}});
  if (key.size() > kLongestKey) return made;
  latest.push_front({key, made});
  known[key] = latest.begin();
  if (latest.size() > kPlans) {
    known.erase(latest.back().key);
    latest.pop_back();
  }
  return made;
}

}  // namespace kernweave
