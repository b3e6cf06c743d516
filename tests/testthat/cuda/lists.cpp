// Lists of the least, in memory beside them: of any length and for both types of numbers and of row numbers, each lies
// where its type may, within its memory, and holds what sorting finds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "on_host.hpp"
#include "kernweave/gpu/fold.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

int wrong = 0, right = 0;

template <class T>
bool aligned(const T* at) {
  return reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0;
}

template <class Number, class I>
void check(int places) {
  using L = Scalar<Number, I>;
  using State = red::KMinArgKMin<L>;
  constexpr char kGuard = 77;
  const auto bytes = static_cast<std::size_t>(State::storage(places));
  std::vector<std::uint64_t> memory(bytes / 8 + 3);
  char* const begin = reinterpret_cast<char*>(memory.data());
  std::memset(begin, kGuard, memory.size() * 8);
  State state;
  state.init(begin, places);
  bool good = aligned(state.least.at) && aligned(state.where.at);
  std::vector<std::pair<Number, long long>> terms;
  for (int n = 0; good && n < 3 * places + 5; ++n) {
    const auto value = static_cast<Number>((n * 37) % 101);
    state.step(L::of(value), L::of(Number(1)), static_cast<typename L::Indices>(n + 1), true);
    terms.emplace_back(value, n + 1);
  }
  if (good) {
    std::sort(terms.begin(), terms.end());
    std::vector<L> values(static_cast<std::size_t>(places));
    std::vector<Index> rows(static_cast<std::size_t>(places));
    state.finish(values.data(), rows.data());
    for (int p = 0; p < places; ++p) {
      const auto at = static_cast<std::size_t>(p);
      good = good && values[at].v == terms[at].first && rows[at] == terms[at].second;
    }
  }
  for (std::size_t k = bytes; k < memory.size() * 8; ++k) good = good && begin[k] == kGuard;
  if (!good) std::printf("a list of %d, %zu bytes a number, %zu a row number\n", places, sizeof(Number), sizeof(I));
  ++(good ? right : wrong);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave

int main() {
  using namespace kernweave::gpu;
  for (int places = 1; places <= 70; ++places) {
    check<float, int>(places);
    check<float, long long>(places);
    check<double, int>(places);
    check<double, long long>(places);
  }
  std::printf("%d right, %d wrong\n", right, wrong);
}
