// The states of all reductions, and what they share. Knows no engine.
//
// A state of lane L is a struct with
//   storage(k)                       bytes it needs beside itself (only lists of K need any)
//   init(storage, k)                 the neutral element
//   step(value, weight, index, valid) takes one term in; where `valid` is false it must change nothing
//   merge(later, lane)               takes in one lane of a state made of later terms (states of one lane only)
//   finish(values, indices)          writes what the row's `results` column promises; index 0 is "none"
//   kAdds                            does it add numbers up? Then engines sum tile by tile, in float64 between,
//                                    and it has restart(): nothing has been added yet
//   kExponents                       is an absolute error of a value a relative error of its term?
//   kShort                           is there a short way for most terms? Then,
//     if it adds up in `sums`, it has
//     scale.share(value)             how large a term is, and add(share, weight, &sums): that way, into a copy
//     plain(sums)                      the lanes in which that is the same as step(): then the copy becomes the
//     state's, else the terms come
//                                      again
//     scale_for(value, weight)         of which the greatest, given to lift(), makes the same terms plain when they
//     come again, where that
//                                      can be done; and expect(sums), before plain() is asked then
//     else, a plain term changing nothing,
//     plain(value)                     the lanes in which it is plain
//     less_plain(value, other)         of two values the one to ask that of; either where one is NaN
//     step_next(value, weight, index)  step() for an index beyond all that have come; and step_lane(lane, number,
//     place): the same of
//                                      one lane of many
//   kLooks                           does a first look at some of the terms spare it many? Then, between look() and
//   end_look(),
//                                    the terms of lanes, all of them plain, go to look_at(value) instead, and come
//                                    again
// Terms come in any order of index where two axes are folded, so a state compares indices on ties; in one
// lane they come in ascending order.
#pragma once
#include "red/states-gen.hpp"
