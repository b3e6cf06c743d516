// The room reference/, compiled as one: what its files include takes the compiler longer than what they say.
#include "reference/reference.cpp"
