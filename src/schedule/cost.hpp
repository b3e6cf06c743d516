// Every constant of the cost model, with its origin.
#pragma once

namespace kernweave {

// Seconds per step and component on the reference back end: bench/run.R, case "gaussian", took 107 to
// 133 ns for the 8 of them in a pair on a 2-core x86_64 machine (bench/notes.md). Good to a factor of two,
// which is all explain() promises; redo when reference/evaluate.cpp changes.
inline constexpr double kReferenceSecondsPerStep = 1.5e-8;

// Steps between two looks at the user's interrupt key: about 1 ms of work, so the look (some
// microseconds) costs under 1 % and Ctrl-C is answered at once.
inline constexpr long long kStepsBetweenPolls = 100000;

}  // namespace kernweave
