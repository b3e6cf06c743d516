// What a row becomes in the machine's switch, by its class: a case for each shape its operands can have. Each is compiled in
// one place and not in the other. For machine-inl.hpp alone, which includes the tables after this.
#pragma once

#define KW_CASE(Name, code, value, work) \
  case code: \
    if constexpr (kPlace == place_of(op::Name::value)) { work; return Next::step; } else return Next::elsewhere;
#define KW_MAP(Name, shape, value, work) KW_CASE(Name, code_of(Op::Name, Shape::shape), value, work)
#define KW_FOLD(Name, shape, value, work) KW_CASE(Name, code_of(Op::Name, FoldShape::shape), value, work)

#define UNARY(Name, ...) \
  KW_MAP(Name, alone, eval(Counting(0)), map(s, [](P x) { return value_of<op::Name>(x); })) \
  KW_MAP(Name, scaled, eval(Counting(0)), map_number(s, a(), [](P x, P y) { return value_of<op::Name>(x * y); })) \
  KW_MAP(Name, shifted, eval(Counting(0)), map_number(s, a(), [](P x, P y) { return value_of<op::Name>(x + y); }))
#define KW_BINARY(Name, shape, work) KW_MAP(Name, shape, eval(Counting(0), Counting(0)), work)
#define BINARY(Name, ...) \
  KW_BINARY(Name, with_vector, map_vector(s, a(), [](P x, P y) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, with_number, map_number(s, a(), [](P x, P y) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, vector_with, map_vector(s, a(), [](P y, P x) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, number_with, map_number(s, a(), [](P y, P x) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, vector_number, map_both(s, a(), b(), [](P, P x, P y) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, number_vector, map_both(s, b(), a(), [](P, P y, P x) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, row_number, map_row(s, a(), b(), [](P x, P y) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, number_row, map_row(s, b(), a(), [](P y, P x) { return value_of<op::Name>(x, y); })) \
  KW_BINARY(Name, vectors, map_vectors(s, a(), b(), [](P, P x, P y) { return value_of<op::Name>(x, y); }))
#define KW_TERNARY(Name, shape, work) KW_MAP(Name, shape, eval(Counting(0), Counting(0), Counting(0)), work)
#define TERNARY(Name, ...) \
  KW_TERNARY(Name, first, map_vectors(s, a(), b(), [](P x, P y, P z) { return value_of<op::Name>(x, y, z); })) \
  KW_TERNARY(Name, second, map_vectors(s, a(), b(), [](P y, P x, P z) { return value_of<op::Name>(x, y, z); })) \
  KW_TERNARY(Name, third, map_vectors(s, a(), b(), [](P z, P x, P y) { return value_of<op::Name>(x, y, z); }))
#define KW_FOLD1(Name, shape, work) KW_FOLD(Name, shape, next(Counting(0), Counting(0)), work)
#define FOLD1(Name, ...) \
  KW_FOLD1(Name, start, map(s, [](P) { return op::Name::template start<P>(); })) \
  KW_FOLD1(Name, next, map_vector(s, a(), [](P x, P acc) { return op::Name::next(acc, x); }); store(*s, a())) \
  KW_FOLD1(Name, vectors, fold1<op::Name>(s, a(), i.width, [](P acc, Seen x, int c, int v) { return op::Name::next(acc, x.vector(c, v)); })) \
  KW_FOLD1(Name, numbers, fold1<op::Name>(s, a(), i.width, [](P acc, Seen x, int c, int) { return op::Name::next(acc, x.number(c)); }))
#define KW_FOLD2(Name, shape, work) KW_FOLD(Name, shape, next(Counting(0), Counting(0), Counting(0)), work)
#define FOLD2(Name, ...) \
  KW_FOLD2(Name, start, map(s, [](P) { return op::Name::template start<P>(); })) \
  KW_FOLD2(Name, next, map_vectors(s, a(), b(), [](P x, P acc, P y) { return op::Name::next(acc, x, y); }); store(*s, a())) \
  KW_FOLD2(Name, next_number, map_both(s, a(), b(), [](P x, P acc, P y) { return op::Name::next(acc, x, y); }); store(*s, a())) \
  KW_FOLD2(Name, vector_number, fold_vector_number<op::Name>(s, a(), b(), i.width, [](P acc, P x, P y) { return op::Name::next(acc, x, y); })) \
  KW_FOLD2(Name, number_vector, fold_vector_number<op::Name>(s, b(), a(), i.width, [](P acc, P y, P x) { return op::Name::next(acc, x, y); })) \
  KW_FOLD2(Name, vectors, fold2<op::Name>(s, a(), b(), i.width, [](P acc, Seen x, Seen y, int c, int v) { return op::Name::next(acc, x.vector(c, v), y.vector(c, v)); })) \
  KW_FOLD2(Name, numbers, fold2<op::Name>(s, a(), b(), i.width, [](P acc, Seen x, Seen y, int c, int) { return op::Name::next(acc, x.number(c), y.number(c)); }))

// Operations with their own loop work in memory anyway.
#define KW_LOOP(Name, call) \
  case code_of(Op::Name, Shape::alone): \
    if constexpr (kPlace == Place::elsewhere) \
      own_loop(i, frame.scratch, [](Read<P> x, Read<P> y, P* out, int width, const int* at) { (void)y; op::Name::call; }); \
    return kPlace == Place::elsewhere ? Next::step : Next::elsewhere;
#define LOOP1(Name, ...) KW_LOOP(Name, loop(x, out, width, at))
#define LOOP2(Name, ...) KW_LOOP(Name, loop(x, y, out, width, at))

// Terms that are not plain, and those of a strip that is not full, are folded elsewhere.
#define KW_REDUCE(Name, weight) \
  case code_of(Red::Name, Weight::weight): return reduce<red::Name, Weight::weight, kPlace, kLoops>(now, frame, i, *s);
#define REDUCTION(Name, ...) \
  KW_REDUCE(Name, one) KW_REDUCE(Name, vector) KW_REDUCE(Name, number) KW_REDUCE(Name, difference)
