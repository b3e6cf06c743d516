// R's way to the verbs that move items: vectors of plain bytes, or the places of what moves.
#include "border.hpp"
#include "r_device_arrays.hpp"
#include "r_order.hpp"
#include "r_sorted.hpp"
#include "arrays/move.hpp"

namespace kernweave {
namespace {

int bytes_of_number(SEXP x) {
  switch (TYPEOF(x)) {
    case RAWSXP: return 1;
    case LGLSXP:
    case INTSXP: return 4;
    case REALSXP: return 8;
    case CPLXSXP: return 16;
    default: fail(Fault::internal, "items of R's type ", TYPEOF(x), " are no plain bytes");
  }
}

arrays::Source source_from_r(SEXP x, bool places) {
  return {places ? nullptr : DATAPTR_RO(x), static_cast<Index>(Rf_xlength(x))};
}

// A vector for what moves out of `x`, or for places among so many items.
SEXP vector_for(SEXP x, bool places, Index most, Index length) {
  const SEXPTYPE type = !places ? static_cast<SEXPTYPE>(TYPEOF(x)) : most <= kMostInt ? INTSXP : REALSXP;
  return Rf_allocVector(type, static_cast<R_xlen_t>(length));
}

arrays::Target target_in(SEXP out) { return {numbers_of(out), bytes_of_number(out)}; }

// Tells whether plain items lie on a device, and integers count them.
bool moves_on_gpu(SEXP x, bool places) { return !places && on_gpu(x) && Rf_xlength(x) <= kMostInt; }

bool is_sorted(const arrays::Whole& numbers, bool strictly) {
  bool sorted = true;
  with_array(numbers, [&](auto at) {
    for (Index k = 1; k < numbers.count && sorted; ++k) sorted = at[k - 1] < at[k] || (!strictly && at[k - 1] == at[k]);
  });
  return sorted;
}

// Places from 1 to `most` in their order, each once, by flags: these take no sorting.
SEXP rising_here(SEXP at, Index most) {
  const arrays::Whole places = whole_from_r(at);
  if (is_sorted(places, true)) return at;
  std::vector<std::uint64_t> flags(static_cast<std::size_t>(most + 63) / 64);
  Index count = 0;
  for (Index k = 0; k < places.count; ++k) {
    std::uint64_t& word = flags[static_cast<std::size_t>(places[k] - 1) / 64];
    const std::uint64_t flag = std::uint64_t{1} << (places[k] - 1) % 64;
    count += (word & flag) == 0;
    word |= flag;
  }
  const Rcpp::Shield<SEXP> out(Rf_allocVector(most <= kMostInt ? INTSXP : REALSXP, static_cast<R_xlen_t>(count)));
  const auto write = [&](auto to) {
    for (std::size_t w = 0; w < flags.size(); ++w)
      for (std::size_t bit = 1, left = flags[w]; left; ++bit, left >>= 1)
        if (left & 1) *to++ = static_cast<std::decay_t<decltype(*to)>>(64 * w + bit);
  };
  if (TYPEOF(out) == INTSXP) write(INTEGER(out));
  else write(REAL(out));
  return out;
}

// Returns rising places, on the device if the places lie there.
SEXP rising_places(SEXP at, Index most) {
  if (!plain_on_gpu(at)) return rising_here(at, most);
  if (first_unsorted_on_gpu(at, true) == 0) return at;
  return on_device_of(
      at, [&](OnDevice& here) { return here.integers(here.verbs().rising_places(here.gpu(), here.whole(at), most)); });
}

SEXP removed_on_gpu(SEXP x, SEXP at) {
  const Rcpp::RObject rising = rising_places(at, Rf_xlength(x));
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole gone = here.whole(rising);
    return here.moved(x, Rf_xlength(x) - gone.count,
                      [&](const arrays::cuda::Moved& m) { here.verbs().remove_items(here.gpu(), m, gone); });
  });
}

SEXP inserted_on_gpu(SEXP x, SEXP values, SEXP after) {
  Rcpp::RObject fresh = values, places = after;
  const bool sorted =
      plain_on_gpu(after) ? first_unsorted_on_gpu(after, false) == 0 : is_sorted(whole_from_r(after), false);
  if (!sorted) {
    if (!plain_on_gpu(places)) places = sent_to(places, x);
    if (!plain_on_gpu(fresh)) fresh = sent_to(fresh, x);
    const Rcpp::RObject order =
        order_on_gpu(Rcpp::List::create(places), Rcpp::LogicalVector::create(false), R_NilValue);
    fresh = taken_on_gpu(fresh, order);
    places = taken_on_gpu(places, order);
  }
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole items = here.whole(fresh), at = here.whole(places);
    return here.moved(x, Rf_xlength(x) + items.count, [&](const arrays::cuda::Moved& m) {
      here.verbs().insert_items(here.gpu(), m, here.first_of(items), at);
    });
  });
}

// Places among all items as if the second ones had come in an order: those of the second ones are behind `old`.
void put_in_order(SEXP places, Index old, SEXP order) {
  const arrays::Whole rows = whole_from_r(order);
  const auto put = [&](auto at) {
    for (R_xlen_t k = 0; k < Rf_xlength(places); ++k)
      if (at[k] > old)
        at[k] = static_cast<std::decay_t<decltype(*at)>>(old + rows[static_cast<Index>(at[k]) - old - 1]);
  };
  if (TYPEOF(places) == INTSXP) put(INTEGER(places));
  else put(REAL(places));
}

SEXP moved_on_gpu(SEXP x, SEXP from, SEXP to, SEXP offsets, Index moves, SEXP into) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Index n = Rf_isNull(into) ? moves : Rf_xlength(into);
    const arrays::Whole old = here.whole(into);
    return here.moved(x, n, [&](const arrays::cuda::Moved& m) {
      if (const void* const first = here.first_of(old))
        here.verbs().copy_numbers(here.gpu(), first, static_cast<std::size_t>(n * m.bytes), m.to);
      here.verbs().move_items(here.gpu(), m, here.whole(from), here.whole(to), here.whole(offsets), moves);
    });
  });
}

}  // namespace
}  // namespace kernweave

// The items of `x` but those at some places from 1, or with `places` the places of the others.
// [[Rcpp::export(rng = false)]]
SEXP r_remove(SEXP x, SEXP at, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    if (kernweave::moves_on_gpu(x, places)) return kernweave::removed_on_gpu(x, at);
    if (!places) kernweave::read_here(x);
    kernweave::read_here(at);
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const Rcpp::RObject rising = kernweave::rising_here(at, source.count);
    const kernweave::arrays::Whole gone = kernweave::whole_from_r(rising);
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, source.count, source.count - gone.count));
    kernweave::arrays::remove_items(source, gone, kernweave::workers_from_r(threads), kernweave::target_in(out));
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_insert(SEXP x, SEXP values, SEXP after, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const bool alike = TYPEOF(values) == TYPEOF(x) && !kernweave::has_attributes(values);
    if (alike && kernweave::moves_on_gpu(x, places)) return kernweave::inserted_on_gpu(x, values, after);
    for (const SEXP read : {x, values, after})
      if (!places) kernweave::read_here(read);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    Rcpp::RObject items = values, at = after, order;
    if (!kernweave::is_sorted(kernweave::whole_from_r(after), false)) {
      order = kernweave::order_here(Rcpp::List::create(after), false, workers);
      at = kernweave::taken_here(after, order);
      if (!places) items = kernweave::taken_here(values, order);
    }
    const kernweave::arrays::Source old = kernweave::source_from_r(x, places),
                                    fresh = kernweave::source_from_r(items, places);
    const kernweave::Index all = old.count + fresh.count;
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, all, all));
    kernweave::arrays::insert_items(old, fresh, kernweave::whole_from_r(at), workers, kernweave::target_in(out));
    if (places && !order.isNULL()) kernweave::put_in_order(out, old.count, order);
    return out;
  });
}

// Each item as often as offsets tell, `total` times in all.
// [[Rcpp::export(rng = false)]]
SEXP r_expand(SEXP x, SEXP offsets, double total, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto n = static_cast<kernweave::Index>(total);
    if (kernweave::moves_on_gpu(x, places) && n <= kernweave::kMostInt)
      return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
        return here.moved(x, n, [&](const kernweave::arrays::cuda::Moved& m) {
          here.verbs().expand_items(here.gpu(), m, here.whole(offsets), n);
        });
      });
    if (!places) kernweave::read_here(x);
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, source.count, n));
    kernweave::arrays::expand_items(source, kernweave::whole_from_r(offsets), kernweave::workers_from_r(threads),
                                    kernweave::target_in(out));
    return out;
  });
}

// Finds for each of `total` items the object that the item belongs to, and the item's rank there.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_walk(SEXP offsets, double total, int threads) {
  return kernweave::at_border([&]() -> Rcpp::List {
    const auto n = static_cast<kernweave::Index>(total);
    if (kernweave::plain_on_gpu(offsets))
      return kernweave::on_device_of(offsets, [&](kernweave::OnDevice& here) {
        kernweave::device::Block objects = here.room_for<int>(n), ranks = here.room_for<int>(n);
        here.verbs().objects_and_ranks(here.gpu(), here.whole(offsets), n, here.at<int>(objects), here.at<int>(ranks));
        const Rcpp::RObject object = here.integers(std::move(objects), n), rank = here.integers(std::move(ranks), n);
        return Rcpp::List::create(Rcpp::_["object"] = object, Rcpp::_["rank"] = rank);
      });
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(offsets);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    const kernweave::Index objects = whole.count - 1;
    const Rcpp::Shield<SEXP> object(kernweave::vector_for(R_NilValue, true, objects, n));
    kernweave::arrays::expand_items({nullptr, objects}, whole, workers, kernweave::target_in(object));
    const Rcpp::Shield<SEXP> rank(kernweave::vector_for(R_NilValue, true, n, n));
    if (TYPEOF(rank) == INTSXP) kernweave::arrays::ranks_of(whole, workers, INTEGER(rank));
    else kernweave::arrays::ranks_of(whole, workers, REAL(rank));
    return Rcpp::List::create(Rcpp::_["object"] = static_cast<SEXP>(object), Rcpp::_["rank"] = static_cast<SEXP>(rank));
  });
}

// Into a copy of `into`, or where that is NULL into a vector of as many items as there are to move, `total`. With
// `places`, `x` tells how many items there are, and what is made are the places they come from. `made`: nobody has
// given `into`, so that it lies nowhere in particular.
// [[Rcpp::export(rng = false)]]
SEXP r_move(SEXP x, SEXP from, SEXP to, SEXP offsets, double total, SEXP into, bool made, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto items = static_cast<kernweave::Index>(total);
    const bool alike = made || Rf_isNull(into) || (TYPEOF(into) == TYPEOF(x) && kernweave::plain_on_gpu(into));
    if (alike && kernweave::moves_on_gpu(x, places)) return kernweave::moved_on_gpu(x, from, to, offsets, items, into);
    if (!places) kernweave::read_here(x);
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const kernweave::arrays::Intervals intervals{kernweave::whole_from_r(from), kernweave::whole_from_r(to),
                                                 kernweave::whole_from_r(offsets)};
    const Rcpp::Shield<SEXP> out(Rf_isNull(into) ? kernweave::vector_for(x, places, source.count, items)
                                                 : Rf_duplicate(into));
    kernweave::arrays::move_items(source, intervals, kernweave::workers_from_r(threads), kernweave::target_in(out));
    return out;
  });
}
