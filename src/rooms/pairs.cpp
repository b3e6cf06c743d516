// The room pairs/, compiled as one: what its files include takes the compiler longer than what they say.
#include "pairs/box_tree.cpp"
#include "pairs/pair_bounds.cpp"
#include "pairs/pair_map.cpp"
#include "pairs/point_tree.cpp"
#include "pairs/units.cpp"
