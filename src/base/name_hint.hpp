// The known name nearest to a mistyped one, for "did you mean".
#pragma once
#include <string>
#include <vector>

namespace kernweave {

// Empty when nothing is within an edit for every three letters, three edits at most.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& known);

}  // namespace kernweave
