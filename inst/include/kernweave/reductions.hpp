// The states of all reductions. Knows no engine.
//
// State: what a reduction knows of the terms so far. A state of lane L derives from StateDefaults (red/state.hpp) and
// has
//   init(storage, k)                   the neutral element
//   step(value, weight, index, valid)  takes in one term; where `valid` is false it must change nothing
//   merge(later, lane)                 takes in one lane of a state made of later terms (states of one lane only)
//   finish(values, indices)            writes what the row's `results` column promises; index 0 is "none"
// Terms come in any order of index where two axes are folded, so a state compares indices on ties; in one lane they
// come in ascending order.
//
// What a state may say in place of the defaults:
//   storage(k)  bytes that it needs beside itself: of lists, which are as long as K
//   kAdds       it adds numbers up: engines sum tile by tile, in float64 between. Then it has
//     restart()                        nothing has been added yet
//   kExponents  an absolute error of a value is a relative error of its term
//   kShort      most terms have a fast path. Of a state that adds up (kAdds), in `sums`:
//     scale.share(value)               the size of a term at the scale there is
//     add(share, weight, &sums)        adds it to a copy of the sums
//     plain(sums)                      the lanes in which the copy is what step() would have made of them; the others
//                                      drop it, and their terms come again
//     scale_for(value, weight)         the scale that would suit a term
//     lift(value)                      raises the scale to the greatest of those, where it can be
//     expect(sums)                     notes how far the sums may grow at that scale
//   and of one that only lets terms in:
//     plain(value)                     the lanes in which the term would change nothing
//     less_plain(value, other)         the one of two values that is less likely to be plain; either where one is NaN
//     step_next(value, weight, index)  step() for an index beyond all that have come
//     step_lane(lane, number, place)   the same for one lane of many
//   kPicks      of those, one keeps the `least` term alone: engines may look for the first that is less in each lane
//     picks()                          may they, because terms come in order?
//     picked(value)                    is there a term in each lane now? If not, step_lane() is for these terms
//     keep(value, places)              the least of the terms, itself where none was less
//     middle()                         half of what is asked for is no more than this
//   kMatters    not all terms matter (red/state.hpp). Then it has
//     limit()                          of the least: values of at least this change nothing; of those that are not 0:
//                                      values up to this, where all are 0 or more
//               and, if it notes where terms stood, `names`, by which they may come in any order (red/state.hpp)
//   kLooks      a bound from a sample of the terms spares it many others (red/list_bound.hpp). Then the terms between
//               look() and end_look(), all of them plain, go to look_at(value) and come again later
#pragma once
#include "red/states-gen.hpp"
