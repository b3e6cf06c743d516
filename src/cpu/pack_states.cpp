// A state that has storage beside it points there. Where its addresses are is found by trying: two states begun at
// different places differ in them and in nothing else.
#include "cpu/pack_states.hpp"

#include <cstring>

#include "base/error.hpp"

namespace kernweave {
namespace {

using Word = std::int64_t;

// The words of a state that are addresses.
std::vector<std::int64_t> addresses_in(const StateKernel& kernel, int places) {
  const std::int64_t words = kernel.row_bytes / 8, storage = kernel.row_storage(places);
  if (storage == 0) return {};
  const auto begun = [&](std::vector<Word>* room, Word* base) {
    room->assign(static_cast<std::size_t>(words + storage / 8 + 1), 0);
    *base = reinterpret_cast<Word>(room->data() + words);
    kernel.row_init(room->data(), 1, room->data() + words, places);
  };
  std::vector<Word> one, other;
  Word at = 0, there = 0;
  begun(&one, &at);
  begun(&other, &there);
  std::vector<std::int64_t> found;
  for (std::int64_t w = 0; w < words; ++w)
    if (one[static_cast<std::size_t>(w)] - other[static_cast<std::size_t>(w)] == at - there) found.push_back(w);
  return found;
}

template <class Value>
void add(const Value& value, std::vector<char>* to) {
  const char* const bytes = reinterpret_cast<const char*>(&value);
  to->insert(to->end(), bytes, bytes + sizeof value);
}
template <class Value>
const char* take(const char* from, Value* value) {
  std::memcpy(value, from, sizeof *value);
  return from + sizeof *value;
}

void add_all(const std::vector<StatesOfRows>& all, std::vector<char>* to) {
  add(static_cast<Word>(all.size()), to);
  for (const StatesOfRows& one : all) {
    add(one.rows, to);
    one.states.pack(to);
  }
}
const char* take_all(const char* from, const RowShape& shape, std::vector<StatesOfRows>* all) {
  Word count = 0;
  from = take(from, &count);
  all->resize(static_cast<std::size_t>(count));
  for (StatesOfRows& one : *all) {
    from = take(from, &one.rows);
    from = one.states.unpack(from, shape);
  }
  return from;
}

}  // namespace

// In a copy of the memory or in itself, each state's addresses become distances from its own storage here, or back.
void RowStates::shift_addresses(std::vector<std::int64_t>* memory, std::int64_t sign) const {
  for (std::size_t p = 0; p < shape_->parts.size(); ++p) {
    const RowShape::Part& part = shape_->parts[p];
    const std::vector<std::int64_t> addresses = addresses_in(*part.kernel, part.output->places);
    for (std::int64_t s = 0; s < rows_ * part.output->width && !addresses.empty(); ++s) {
      const Word storage = reinterpret_cast<Word>(memory_.data()) + storage_[p] + s * part.storage;
      Word* const state = memory->data() + (first_[p] + s * part.kernel->row_bytes) / static_cast<Word>(sizeof(Word));
      for (std::int64_t w : addresses) state[w] += sign * storage;
    }
  }
}

void RowStates::pack(std::vector<char>* to) const {
  add(static_cast<Word>(shape_ ? rows_ : -1), to);
  if (!shape_) return;
  std::vector<Word> memory = memory_;
  shift_addresses(&memory, -1);
  const char* const from = reinterpret_cast<const char*>(memory.data());
  to->insert(to->end(), from, from + memory.size() * sizeof(Word));
}

const char* RowStates::unpack(const char* from, const RowShape& shape) {
  Word rows = 0;
  from = take(from, &rows);
  if (rows < 0) return from;
  init(shape, rows);
  std::memcpy(memory_.data(), from, memory_.size() * sizeof(Word));
  shift_addresses(&memory_, 1);
  return from + memory_.size() * sizeof(Word);
}

std::vector<char> packed(const std::vector<SweepStates>& states) {
  std::vector<char> bytes;
  add(Word{0}, &bytes);
  add(static_cast<Word>(states.size()), &bytes);
  for (const SweepStates& one : states) {
    add_all(one.rows, &bytes);
    add_all(one.totals, &bytes);
  }
  const auto size = static_cast<Word>(bytes.size());
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

std::vector<SweepStates> unpacked(const std::vector<char>& bytes, const std::vector<const RowShape*>& shapes) {
  Word count = 0, size = 0;
  if (bytes.size() >= 2 * sizeof size) take(bytes.data(), &size);
  user_check(size > 0 && size == static_cast<Word>(bytes.size()), Fault::input, "damaged states of a block of rows");
  const char* from = take(bytes.data() + sizeof size, &count);
  std::vector<SweepStates> all(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < all.size(); ++k) {
    const RowShape& shape = *shapes[k * shapes.size() / all.size()];
    from = take_all(from, shape, &all[k].rows);
    from = take_all(from, shape, &all[k].totals);
  }
  return all;
}

}  // namespace kernweave
