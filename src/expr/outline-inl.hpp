// Declares the functions by which a proving lane evaluates the rows of ops.def; other functions are made of these. Read
// inside the lane's type, which it calls L.
friend L operator+(const L& a, const L& b), operator-(const L& a, const L& b), operator*(const L& a, const L& b),
    operator/(const L& a, const L& b), operator-(const L& a), square(const L& a), pow(const L& a, const L& b);
friend Mask operator<(const L& a, const L& b), operator<=(const L& a, const L& b), operator==(const L& a, const L& b),
    differs(const L& a, const L& b), truth(const L& a), is_nan(const L& a);
friend L select(Mask test, const L& yes, const L& no);
friend L abs(const L& a), nearest(const L& a), sqrt(const L& a), inverse_sqrt(const L& a), rsqrt(const L& a),
    exp(const L& a), exp2(const L& a), exp2_minus(const L& a), expm1(const L& a), log(const L& a), log1p(const L& a),
    sin(const L& a), cos(const L& a), sinpi(const L& a), cospi(const L& a), tanh(const L& a), sinh(const L& a),
    cosh(const L& a), asinh(const L& a), acosh(const L& a), atanh(const L& a), asin(const L& a), acos(const L& a),
    atan(const L& a), softplus(const L& a), erf(const L& a), erfc(const L& a);
