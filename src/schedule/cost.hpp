// Every constant of the cost model, with its origin.
#pragma once

namespace kernweave {

// Seconds per element-wise step and component on the reference back end. From bench/run.R, case
// "gaussian" on a 2-core Zen 3 machine; good to a factor of two, which is all explain() promises.
inline constexpr double kReferenceSecondsPerStep = 8e-9;

// Steps between two looks at the user's interrupt key: about 1 ms of work, so the look (some
// microseconds) costs under 1 % and Ctrl-C is answered at once.
inline constexpr long long kStepsBetweenPolls = 100000;

}  // namespace kernweave
