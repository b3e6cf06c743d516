// Compares decisions and converts them to bytes, by one list of their fields. Estimates work from the costs in the
// table of operations, and from widths.
#include "schedule/schedule.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <tuple>
#include <type_traits>

#include "base/error.hpp"

namespace kernweave {
namespace {

// The rate of pageable copies to and from a GPU: 24 MB took 1.4 ms, 8 MB back 0.5 ms (H100).
constexpr double kGpuBytesPerSecond = 16e9;

template <class Struct>
auto fields(Struct& s) {
  using Plain = std::remove_const_t<Struct>;
  if constexpr (std::is_same_v<Plain, Sizes>) return std::tie(s.i, s.j, s.outer, s.share, s.folded);
  else if constexpr (std::is_same_v<Plain, Loops>) return std::tie(s.rows, s.columns, s.split, s.mode, s.boxes);
  else if constexpr (std::is_same_v<Plain, Ref>) return std::tie(s.from, s.index, s.width);
  else if constexpr (std::is_same_v<Plain, Difference>) return std::tie(s.row, s.column);
  else if constexpr (std::is_same_v<Plain, FoldedPart>) return std::tie(s.of_point, s.grows);
  else if constexpr (std::is_same_v<Plain, Growth>) return std::tie(s.value, s.grows, s.differences, s.parts);
  else
    return std::tie(s.backend, s.model, s.variant, s.sizes, s.loops, s.strain, s.growths, s.centres, s.steps, s.others);
}

// The mark of the format; its last digit changes with the fields above.
constexpr char kMark[] = {'k', 'w', 'd', '3'};

std::uint64_t sum_of(const char* bytes, std::size_t count) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t k = 0; k < count; ++k) sum = (sum ^ static_cast<unsigned char>(bytes[k])) * 0x100000001b3;
  return sum;
}

// Walks over fields, and writes the fields to bytes or reads them from bytes.
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
  // Writes or reads the size of a list. Each item takes a byte or more, so a size is at most the bytes left.
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
  for (const Growth& growth : d.growths) {
    out << (growth.grows ? ", growing" : ", falling") << " with " << growth.components() << " differences";
    if (!growth.parts.empty()) out << " and " << growth.parts.size() << " parts of one axis";
  }
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

double work_per_pair(const Variant& variant) {
  double work = 4;
  for (const Step& step : variant.program.steps) {
    if (home(variant.program, step) != Region::pair) continue;
    const int turns = step.group >= 0                   ? variant.program.groups[step.group].width
                      : row(step.op).form == Form::fold ? fold_width(step)
                                                        : step.width;
    work += turns * std::max(1, row(step.op).cost);
  }
  for (const Output& o : variant.outputs) work += 2 * o.width;
  return work;
}

double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  const double points = static_cast<double>(sizes.i) + static_cast<double>(sizes.j);
  double numbers = 0;
  for (const Variable& v : plan.variables) numbers += v.width;
  for (const Output& o : variant.outputs) numbers += o.width * o.places;
  return points * numbers * sizeof(double) / kGpuBytesPerSecond;
}

}  // namespace kernweave
