// The known name nearest to a mistyped one, for "did you mean".
#pragma once
#include <string>
#include <vector>

namespace kernweave {

// Empty when nothing is within three edits and shorter than a rewrite of the word.
std::string nearest_name(const std::string& typed, const std::vector<std::string>& known);

}  // namespace kernweave
