// Mathematics on packs. Once per instruction set.
#pragma once
#include "cpu/math_circle-inl.hpp"
#include "cpu/math_exp-inl.hpp"
#include "cpu/math_pow-inl.hpp"
