// The states of all reductions. Knows no engine.
//
// State: a summary of the terms so far, for one reduction. A state of lane L derives from StateDefaults (red/state.hpp)
// and has
//   init(storage, k)                   the neutral element
//   step(value, weight, index, valid)  takes in one term; it must change nothing in lanes where `valid` is false
//   merge(later, lane)                 takes in one lane of a state made of later terms (states of one lane only)
//   finish(values, indices)            writes the results that the row's `results` column names; index 0 is "none"
// If two axes are folded, terms come in any order of index, so a state compares indices on ties; in one lane, terms
// come in ascending order.
//
// A state may replace these defaults:
//   storage(k)  bytes of memory beside the state, for lists, whose length is K
//   kAdds       it adds numbers up: engines sum tile by tile, in float64 between tiles. Then it has
//     restart()                        empties its sums
//   kExponents  an absolute error of a value is a relative error of its term
//   kShort      most terms have a fast path. A state that adds up (kAdds) then has, with `sums`:
//     scale.share(value)               the size of a term at the present scale
//     add(share, weight, &sums)        adds it to a copy of the sums
//     plain(sums)                      the lanes in which the copy equals the result of step(); the others drop the
//                                      copy, and their terms come again
//     scale_for(value, weight)         the scale that would suit a term
//     lift(value)                      raises the scale to the greatest of these, if possible
//     expect(sums)                     sets how far the sums may grow at that scale
//   and a state that only lets terms in has:
//     plain(value)                     the lanes in which the term would change nothing
//     less_plain(value, other)         the value that is less likely to be plain; either value if one is NaN
//     step_next(value, weight, index)  step() for an index beyond all earlier ones
//     step_lane(lane, number, place)   step() for one lane of many
//   kPicks      it lets terms in, and keeps the `least` alone: engines may look for the first smaller one in each lane
//     picks()                          may they, because terms come in order?
//     picked(value)                    has each lane a term now? If not, step_lane() takes these terms
//     keep(value, places)              keeps the least of the terms: in some lanes `least` itself
//     middle()                         half of the wanted terms are no more than this
//   kMatters    not all terms matter (red/state.hpp). Then it has
//     limit()                          for Matters::least, values of at least this change nothing; for not_zero,
//                                      values up to this, if all are 0 or more
//               and, if it keeps the places of terms, `names`: terms may then come in any order (red/state.hpp)
//   kLooks      a bound from a sample of the terms keeps many others out (red/list_bound.hpp). Then the terms between
//               look() and end_look(), all of them plain, go to look_at(value) and come again later
#pragma once
#include "red/states-gen.hpp"
