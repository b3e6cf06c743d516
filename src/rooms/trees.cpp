// The room trees/, compiled as one: what its files include takes the compiler longer than what they say.
#include "trees/density.cpp"
#include "trees/merges.cpp"
#include "trees/spanning_tree.cpp"
#include "trees/twins.cpp"
#include "trees/ward.cpp"
