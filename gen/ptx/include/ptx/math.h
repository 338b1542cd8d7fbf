// Floating-point functions. Nothing here is contracted or approximate except by
// name; division and square root are IEEE's, as MTLMathModeSafe has them.
#pragma once

namespace metal {
METAL_FUNC float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <typename T> METAL_FUNC T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }

template <typename T> METAL_FUNC T min(T a, T b) { return __builtin_elementwise_min(a, b); }
template <typename T> METAL_FUNC T max(T a, T b) { return __builtin_elementwise_max(a, b); }
template <typename T> METAL_FUNC T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <typename T> METAL_FUNC T abs(T x) { return __builtin_elementwise_abs(x); }
template <typename T> METAL_FUNC T fabs(T x) { return __builtin_elementwise_abs(x); }
template <typename T> METAL_FUNC T floor(T x) { return __builtin_elementwise_floor(x); }
template <typename T> METAL_FUNC T ceil(T x) { return __builtin_elementwise_ceil(x); }
template <typename T> METAL_FUNC T rint(T x) { return __builtin_elementwise_rint(x); }
template <typename T> METAL_FUNC T trunc(T x) { return __builtin_elementwise_trunc(x); }
template <typename T> METAL_FUNC T select(T a, T b, bool c) { return c ? b : a; }
template <typename T> METAL_FUNC T mix(T a, T b, T t) { return a + (b - a) * t; }

// Σ a[i] b[i], summed in ascending order of i.
template <typename V>
METAL_FUNC typename shape<V>::element dot(V a, V b) {
  typename shape<V>::element sum = a[0] * b[0];
  for (int i = 1; i < shape<V>::length; ++i) sum += a[i] * b[i];
  return sum;
}

METAL_FUNC bool isnan(float x) { return __builtin_isnan(x); }
METAL_FUNC bool isinf(float x) { return __builtin_isinf(x); }

namespace precise {
// 2^n for n in [-126, 127].
METAL_FUNC float power_of_two(int n) { return __builtin_bit_cast(float, (n + 127) << 23); }

// e^r 2^n for |r| <= ln(2)/2 and n in [-152, 129]. The polynomial is the minimax approximation of (e^r - 1 -
// r) / r². 2^n is split into two factors so that subnormal results are rounded only once.
METAL_FUNC float exp_reduced(float r, int n) {
  float p = 0x1.a0d2cep-13f;
  p = fma(p, r, 0x1.6e879cp-10f);
  p = fma(p, r, 0x1.1112fap-7f);
  p = fma(p, r, 0x1.555502p-5f);
  p = fma(p, r, 0x1.555554p-3f);
  p = fma(p, r, 0x1p-1f);
  p = fma(p * r, r, r) + 1.0f;
  const int half_n = n >> 1;
  return p * power_of_two(half_n) * power_of_two(n - half_n);
}

// Adding this number to v, |v| < 2^21, leaves the nearest integer to v in the low bits of the sum.
constexpr float to_integer = 0x1.8p23f;
METAL_FUNC int integer_of(float shifted) { return __builtin_bit_cast(int, shifted) - __builtin_bit_cast(int, to_integer); }

METAL_FUNC float exp(float x) {
  const float shifted = fma(x, 0x1.715476p0f, to_integer);
  const float n = shifted - to_integer;
  const float r = fma(n, -0x1.7f7d1cp-20f, fma(n, -0x1.62e4p-1f, x)); // x - n ln 2
  const float e = exp_reduced(r, integer_of(shifted));
  return x < -104.0f ? 0.0f : x > 89.0f ? __builtin_inff() : e;
}

METAL_FUNC float exp2(float x) {
  const float shifted = x + to_integer;
  const float f = x - (shifted - to_integer);
  const float e = exp_reduced(f * 0x1.62e43p-1f, integer_of(shifted));
  return x < -151.0f ? 0.0f : x >= 128.0f ? __builtin_inff() : e;
}

// log(m 2^n) = n ln 2 + log(m) with m in [sqrt(1/2), sqrt(2)). With f = m - 1 and s = f / (2 + f): log(m) = f
// - f²/2 + s (f²/2 + R(s²)).
METAL_FUNC float log(float x) {
  const bool small = x < 0x1p-126f;
  const float y = small ? x * 0x1p25f : x;
  const int bits = __builtin_bit_cast(int, y) - 0x3f3504f3; // the bits of sqrt(1/2)
  const float n = float((bits >> 23) - (small ? 25 : 0));
  const float f = __builtin_bit_cast(float, (bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const float s = f / (2.0f + f), z = s * s, w = z * z;
  const float odd = z * fma(w, 0.28498786688f, 0.66666662693f);
  const float even = w * fma(w, 0.24279078841f, 0.40000972152f);
  const float square = 0.5f * f * f;
  const float l = fma(s, square + odd + even, n * 9.0580006145e-06f) - square + f + n * 6.9313812256e-01f;
  return x > 0.0f ? (x == __builtin_inff() ? x : l) : x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
}

METAL_FUNC float sqrt(float x) { return __builtin_sqrtf(x); }
METAL_FUNC float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
METAL_FUNC float divide(float x, float y) { return x / y; }
}
using namespace precise;

namespace fast {
METAL_FUNC float exp2(float x) { return __nvvm_ex2_approx_ftz_f(x); }
METAL_FUNC float exp(float x) { return exp2(x * 0x1.715476p0f); }
METAL_FUNC float log2(float x) { return __nvvm_lg2_approx_ftz_f(x); }
METAL_FUNC float log(float x) { return log2(x) * 0x1.62e43p-1f; }
METAL_FUNC float sqrt(float x) { return __nvvm_sqrt_approx_ftz_f(x); }
METAL_FUNC float rsqrt(float x) { return __nvvm_rsqrt_approx_ftz_f(x); }
METAL_FUNC float divide(float x, float y) { return __nvvm_div_approx_ftz_f(x, y); }
}
}
