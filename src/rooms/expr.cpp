// The room expr/, compiled as one: what its files include takes the compiler longer than what they say.
// Files that write operations as algebra come before those that evaluate them on lanes, whose functions have the names
// of operations.
#include "expr/build.cpp"
#include "expr/grad.cpp"
#include "expr/keops.cpp"
#include "expr/normalise.cpp"
#include "expr/parse.cpp"
#include "expr/course.cpp"
#include "expr/guard.cpp"
#include "expr/interval.cpp"
#include "expr/node.cpp"
#include "expr/rewrite.cpp"
#include "expr/rules.cpp"
#include "expr/scan.cpp"
#include "expr/show.cpp"
#include "expr/table.cpp"
#include "expr/traits.cpp"
#include "expr/type.cpp"
