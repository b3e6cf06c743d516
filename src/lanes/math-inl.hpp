// Mathematics on packs. Once per instruction set.
#pragma once
#include "lanes/math_circle-inl.hpp"
#include "lanes/math_exp-inl.hpp"
#include "lanes/math_pow-inl.hpp"
