// The states of all reductions, and what they share. Knows no engine.
//
// A state of lane L is a struct with
//   storage(k)                       bytes it needs beside itself (only lists of K need any)
//   init(storage, k)                 the neutral element
//   step(value, weight, index, valid) takes one term in; where `valid` is false it must change nothing
//   merge(later)                     takes in a state made of later terms
//   finish(values, indices)          writes what the row's `results` column promises; index 0 is "none"
// Terms come in any order of index where two axes are folded, so a state compares indices on ties.
// States choose with select(), never with a branch, so a lane may hold many of them; lists of K excepted.
#pragma once
#include "red/states-gen.hpp"
