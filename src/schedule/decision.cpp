// The fields of a decision are listed once, for its bytes and for ==.
#include <cstring>
#include <sstream>
#include <tuple>
#include <type_traits>

#include "base/error.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {
namespace {

template <class Struct>
auto fields(Struct& s) {
  using Plain = std::remove_const_t<Struct>;
  if constexpr (std::is_same_v<Plain, Sizes>) return std::tie(s.i, s.j, s.outer, s.share, s.folded);
  else if constexpr (std::is_same_v<Plain, Loops>) return std::tie(s.rows, s.columns, s.split, s.mode, s.boxes);
  else if constexpr (std::is_same_v<Plain, Ref>) return std::tie(s.from, s.index, s.width);
  else if constexpr (std::is_same_v<Plain, Difference>) return std::tie(s.row, s.column);
  else if constexpr (std::is_same_v<Plain, Growth>) return std::tie(s.value, s.grows, s.differences);
  else
    return std::tie(s.backend, s.model, s.variant, s.sizes, s.loops, s.strain, s.growths, s.centres, s.steps, s.others);
}

// The version is that of the fields above.
constexpr char kMark[] = {'k', 'w', 'd', '2'};

std::uint64_t sum_of(const char* bytes, std::size_t count) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t k = 0; k < count; ++k) sum = (sum ^ static_cast<unsigned char>(bytes[k])) * 0x100000001b3;
  return sum;
}

// Walks over fields, and moves them to bytes, or bytes to them.
class Walk {
 public:
  Walk() = default;
  Walk(const char* from, const char* end) : from_(from), end_(end) {}

  template <class T>
  void over(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) move(&value, sizeof value);
    else std::apply([&](auto&... field) { (over(field), ...); }, fields(value));
  }
  void over(std::string& text) {
    resize(&text);
    move(text.data(), text.size());
  }
  template <class Item>
  void over(std::vector<Item>& items) {
    resize(&items);
    for (Item& item : items) over(item);
  }

  std::vector<char> bytes;
  bool reads() const { return from_ != nullptr; }
  bool done() const { return from_ == end_; }

 private:
  // Resizes a list, each item of which takes a byte or more.
  template <class List>
  void resize(List* list) {
    std::uint64_t size = list->size();
    move(&size, sizeof size);
    if (reads()) list->resize(checked(size));
  }
  void move(void* at, std::size_t count) {
    char* const here = static_cast<char*>(at);
    if (!reads()) bytes.insert(bytes.end(), here, here + count);
    else if (checked(count) > 0) std::memcpy(here, from_, count), from_ += count;
  }
  std::size_t checked(std::uint64_t count) const {
    user_check(count <= static_cast<std::uint64_t>(end_ - from_), Fault::input, "a damaged decision");
    return static_cast<std::size_t>(count);
  }

  const char* from_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace

bool operator==(const Sizes& a, const Sizes& b) { return fields(a) == fields(b); }
bool operator==(const Loops& a, const Loops& b) { return fields(a) == fields(b); }
bool operator==(const Decision& a, const Decision& b) { return fields(a) == fields(b); }

std::vector<char> to_bytes(Decision decision) {
  Walk walk;
  for (char letter : kMark) walk.over(letter);
  walk.over(decision);
  std::uint64_t sum = sum_of(walk.bytes.data(), walk.bytes.size());
  walk.over(sum);
  return std::move(walk.bytes);
}

Decision from_bytes(const std::vector<char>& bytes) {
  constexpr std::size_t kMarked = sizeof kMark, kSummed = sizeof(std::uint64_t);
  bool whole = bytes.size() > kMarked + kSummed && std::memcmp(bytes.data(), kMark, kMarked) == 0;
  Decision decision;
  if (whole) {
    const char* const end = bytes.data() + bytes.size() - kSummed;
    std::uint64_t sum = 0;
    std::memcpy(&sum, end, kSummed);
    whole = sum == sum_of(bytes.data(), bytes.size() - kSummed);
    Walk walk(bytes.data() + kMarked, end);
    if (whole) walk.over(decision);
    whole = whole && walk.done();
  }
  user_check(whole, Fault::input, "a damaged decision, or one of another version of kernweave");
  return decision;
}

namespace {

void show(const Loops& loops, std::ostream& out) {
  const char* const modes[] = {"", ", plainly", ", interpreted"};
  const char* const boxes[] = {"all pairs", "boxes of points on trial", "by boxes of points"};
  const auto size = [&](std::int64_t points) -> std::ostream& { return points > 0 ? out << points : out << "any"; };
  out << boxes[static_cast<int>(loops.boxes)] << modes[static_cast<int>(loops.mode)] << ", tiles ";
  if (loops.rows > 0 || loops.columns > 0) size(loops.rows) << " x ", size(loops.columns) << ", splits ";
  else out << "as usual, splits ";
  if (loops.split > 0) size(loops.split);
  else out << "as usual";
}

void show(const Decision& d, std::ostream& out) {
  out << d.backend;
  if (!d.model.empty()) out << " (" << d.model << ')';
  out << ", variant " << d.variant + 1 << ", " << d.sizes.i << " x " << d.sizes.j << " points";
  for (std::int64_t extent : d.sizes.outer) out << " x " << extent;
  if (d.sizes.folded > 0) out << ", the last " << d.sizes.folded << " folded";
  if (d.sizes.share < 1) out << ", " << d.sizes.share << " of the pairs";
  out << (d.steps == 2 ? ", two steps; " : ", one step; ");
  show(d.loops, out);
  for (const Growth& growth : d.growths)
    out << (growth.grows ? ", growing" : ", falling") << " with " << growth.components() << " differences";
  out << "; strain " << d.strain;
  for (std::size_t k = 0; k < d.centres.size(); ++k) {
    for (std::size_t c = 0; c < d.centres[k].size(); ++c)
      out << (c == 0 ? sentence("; variable ", k + 1, " less (") : ", ") << d.centres[k][c] + 0.0;  // -0 is 0
    if (!d.centres[k].empty()) out << ')';
  }
  for (const Decision& other : d.others) show(other, out << '\n');
}

}  // namespace

std::string show(const Decision& decision) {
  std::ostringstream out;
  show(decision, out);
  return out.str();
}

}  // namespace kernweave
