// Verbs that move items, vectors of plain bytes, or the places of what moves; and slices.
#include "arrays/move.hpp"
#include "arrays/slices.hpp"
#include "r_arrays.hpp"

namespace kernweave {
namespace {

arrays::Source source_from_r(SEXP x, bool places) {
  return {places ? nullptr : DATAPTR_RO(x), static_cast<Index>(Rf_xlength(x))};
}

// A vector for what moves out of `x`, or for places among so many items.
SEXP vector_for(SEXP x, bool places, Index most, Index length) {
  const SEXPTYPE type = !places ? static_cast<SEXPTYPE>(TYPEOF(x)) : most <= kMostInt ? INTSXP : REALSXP;
  return Rf_allocVector(type, static_cast<R_xlen_t>(length));
}

arrays::Target target_in(SEXP out) { return {numbers_of(out), static_cast<int>(bytes_of_item(out))}; }

// Tells whether plain items lie on a device, and integers count them.
bool moves_on_gpu(SEXP x, bool places) { return !places && on_gpu(x) && Rf_xlength(x) <= kMostInt; }

bool is_sorted(const Whole& numbers, bool strictly) {
  bool sorted = true;
  with_array(numbers, [&](auto at) {
    for (Index k = 1; k < numbers.count && sorted; ++k) sorted = at[k - 1] < at[k] || (!strictly && at[k - 1] == at[k]);
  });
  return sorted;
}

// Places from 1 to `most` in their order, each once, by flags: these take no sorting.
SEXP rising_here(SEXP at, Index most) {
  const Whole places = whole_from_r(at);
  if (is_sorted(places, true)) return at;
  std::vector<std::uint64_t> flags(static_cast<std::size_t>(most + 63) / 64);
  Index count = 0;
  for (Index k = 0; k < places.count; ++k) {
    std::uint64_t& word = flags[static_cast<std::size_t>(places[k] - 1) / 64];
    const std::uint64_t flag = std::uint64_t{1} << (places[k] - 1) % 64;
    count += (word & flag) == 0;
    word |= flag;
  }
  return with_numbers(most, count, [&](auto to, auto) {
    for (std::size_t w = 0; w < flags.size(); ++w)
      for (std::size_t bit = 1, left = flags[w]; left; ++bit, left >>= 1)
        if (left & 1) *to++ = static_cast<std::decay_t<decltype(*to)>>(64 * w + bit);
  });
}

// Returns rising places, on the device if the places lie there.
SEXP rising_places(SEXP at, Index most) {
  if (!plain_on_gpu(at)) return rising_here(at, most);
  if (first_unsorted_on_gpu(at, true) == 0) return at;
  return on_device_of(
      at, [&](OnDevice& here) { return here.integers(here.verbs().rising_places(here.gpu(), here.whole(at), most)); });
}

SEXP inserted_on_gpu(SEXP x, SEXP values, SEXP after) {
  RObject fresh = values, places = after;
  const bool sorted =
      plain_on_gpu(after) ? first_unsorted_on_gpu(after, false) == 0 : is_sorted(whole_from_r(after), false);
  if (!sorted) {
    if (!plain_on_gpu(places)) places = sent_to(places, x);
    if (!plain_on_gpu(fresh)) fresh = sent_to(fresh, x);
    const RObject order = order_on_gpu(List::create(places), LogicalVector::create(false), R_NilValue);
    fresh = taken_on_gpu(fresh, order);
    places = taken_on_gpu(places, order);
  }
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Whole items = here.whole(fresh), at = here.whole(places);
    return here.moved(x, Rf_xlength(x) + items.count,
                      [&](const Moved& m) { here.verbs().insert_items(here.gpu(), m, here.first_of(items), at); });
  });
}

// Places among all items as if the second ones had come in an order: those of the second ones are behind `old`.
void put_in_order(SEXP places, Index old, SEXP order) {
  const Whole rows = whole_from_r(order);
  const auto put = [&](auto at) {
    for (R_xlen_t k = 0; k < Rf_xlength(places); ++k)
      if (at[k] > old)
        at[k] = static_cast<std::decay_t<decltype(*at)>>(old + rows[static_cast<Index>(at[k]) - old - 1]);
  };
  if (TYPEOF(places) == INTSXP) put(INTEGER(places));
  else put(REAL(places));
}

}  // namespace

// The items of `x` but those at some places from 1, or with `places` the places of the others.
// [[Rcpp::export(rng = false)]]
SEXP r_remove(SEXP x, SEXP at, bool places, int threads) {
  if (moves_on_gpu(x, places)) {
    const RObject rising = rising_places(at, Rf_xlength(x));
    return on_device_of(x, [&](OnDevice& here) {
      const Whole gone = here.whole(rising);
      return here.moved(x, Rf_xlength(x) - gone.count,
                        [&](const Moved& m) { here.verbs().remove_items(here.gpu(), m, gone); });
    });
  }
  if (!places) read_here(x);
  read_here(at);
  const arrays::Source source = source_from_r(x, places);
  const RObject rising = rising_here(at, source.count);
  const Whole gone = whole_from_r(rising);
  const Shield<SEXP> out(vector_for(x, places, source.count, source.count - gone.count));
  arrays::remove_items(source, gone, workers_from_r(threads), target_in(out));
  return out;
}

// [[Rcpp::export(rng = false)]]
SEXP r_insert(SEXP x, SEXP values, SEXP after, bool places, int threads) {
  const bool alike = TYPEOF(values) == TYPEOF(x) && !has_attributes(values);
  if (alike && moves_on_gpu(x, places)) return inserted_on_gpu(x, values, after);
  for (const SEXP read : {x, values, after})
    if (!places) read_here(read);
  const Workers workers = workers_from_r(threads);
  RObject items = values, at = after, order;
  if (!is_sorted(whole_from_r(after), false)) {
    order = order_here(List::create(after), false, workers);
    at = taken_here(after, order);
    if (!places) items = taken_here(values, order);
  }
  const arrays::Source old = source_from_r(x, places), fresh = source_from_r(items, places);
  const Index all = old.count + fresh.count;
  const Shield<SEXP> out(vector_for(x, places, all, all));
  arrays::insert_items(old, fresh, whole_from_r(at), workers, target_in(out));
  if (places && !order.isNULL()) put_in_order(out, old.count, order);
  return out;
}

// Each item as often as offsets tell, `total` times in all.
// [[Rcpp::export(rng = false)]]
SEXP r_expand(SEXP x, SEXP offsets, double total, bool places, int threads) {
  const auto n = static_cast<Index>(total);
  if (moves_on_gpu(x, places) && n <= kMostInt)
    return on_device_of(x, [&](OnDevice& here) {
      const auto expand = [&](const Moved& m) { here.verbs().expand_items(here.gpu(), m, here.whole(offsets), n); };
      return here.moved(x, n, expand);
    });
  if (!places) read_here(x);
  const arrays::Source source = source_from_r(x, places);
  const Shield<SEXP> out(vector_for(x, places, source.count, n));
  arrays::expand_items(source, whole_from_r(offsets), workers_from_r(threads), target_in(out));
  return out;
}

// Finds for each of `total` items the object that the item belongs to, and the item's rank there.
// [[Rcpp::export(rng = false)]]
List r_walk(SEXP offsets, double total, int threads) {
  const auto n = static_cast<Index>(total);
  if (plain_on_gpu(offsets))
    return on_device_of(offsets, [&](OnDevice& here) {
      device::Block objects = here.room_for<int>(n), ranks = here.room_for<int>(n);
      here.verbs().objects_and_ranks(here.gpu(), here.whole(offsets), n, here.at<int>(objects), here.at<int>(ranks));
      return List::create(_["object"] = here.integers(std::move(objects), n),
                          _["rank"] = here.integers(std::move(ranks), n));
    });
  const Whole whole = whole_from_r(offsets);
  const Workers workers = workers_from_r(threads);
  const Index objects = whole.count - 1;
  const RObject object = vector_for(R_NilValue, true, objects, n);
  arrays::expand_items({nullptr, objects}, whole, workers, target_in(object));
  const RObject rank = with_numbers(n, n, [&](auto to, auto) { arrays::ranks_of(whole, workers, to); });
  return List::create(_["object"] = object, _["rank"] = rank);
}

// Into a copy of `into`, or where that is NULL into a vector of as many items as there are to move, `total`. With
// `places`, `x` tells how many items there are, and what is made are the places they come from. `made`: nobody has
// given `into`, so that it lies nowhere in particular.
// [[Rcpp::export(rng = false)]]
SEXP r_move(SEXP x, SEXP from, SEXP to, SEXP offsets, double total, SEXP into, bool made, bool places, int threads) {
  const auto items = static_cast<Index>(total);
  const bool alike = made || Rf_isNull(into) || (TYPEOF(into) == TYPEOF(x) && plain_on_gpu(into));
  if (alike && moves_on_gpu(x, places))
    return on_device_of(x, [&](OnDevice& here) {
      const Index n = Rf_isNull(into) ? items : Rf_xlength(into);
      const Whole old = here.whole(into);
      return here.moved(x, n, [&](const Moved& m) {
        if (const void* const first = here.first_of(old))
          here.verbs().copy_numbers(here.gpu(), first, static_cast<std::size_t>(n * m.bytes), m.to);
        here.verbs().move_items(here.gpu(), m, here.whole(from), here.whole(to), here.whole(offsets), items);
      });
    });
  if (!places) read_here(x);
  const arrays::Source source = source_from_r(x, places);
  const arrays::Intervals intervals{whole_from_r(from), whole_from_r(to), whole_from_r(offsets)};
  const Shield<SEXP> out(Rf_isNull(into) ? vector_for(x, places, source.count, items) : Rf_duplicate(into));
  arrays::move_items(source, intervals, workers_from_r(threads), target_in(out));
  return out;
}

// --- slices: points and directions as matrices, labellings as raw vectors -------------------------------------------

// `distances`: an array of group by group by direction; `numbers`: of the labellings, a mean over directions.
// [[Rcpp::export(rng = false)]]
List r_compare_slices(NumericMatrix points, NumericMatrix directions, IntegerVector groups, NumericVector sizes,
                      List bytes, NumericVector shares, NumericMatrix factor, int threads) {
  arrays::Labellings labellings{{}, {shares.begin(), shares.end()}, factor.begin()};
  for (R_xlen_t k = 0; k < bytes.size(); ++k) labellings.bytes.push_back(RAW_RO(bytes[k]));
  const arrays::Slices slices{points.begin(),     points.nrow(),     points.ncol(),
                              directions.begin(), directions.ncol(), workers_from_r(threads)};
  const arrays::RowGroups row_groups{groups.begin(), {sizes.begin(), sizes.end()}};
  NumericVector distances(Rcpp::Dimension(sizes.size(), sizes.size(), directions.ncol()));
  NumericVector numbers(8 * labellings.eights());
  arrays::compare_slices(slices, row_groups, labellings, distances.begin(), numbers.begin());
  for (double& number : numbers) number /= directions.ncol();
  return List::create(_["distances"] = distances, _["numbers"] = numbers);
}

}  // namespace kernweave
