// Measures the functions of math.h against the C library in double, in units in the
// last place of the exact result, over every STRIDEth float.
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define METAL_FUNC inline
#define __nvvm_ex2_approx_ftz_f(x) (x)
#define __nvvm_lg2_approx_ftz_f(x) (x)
#define __nvvm_sqrt_approx_ftz_f(x) (x)
#define __nvvm_rsqrt_approx_ftz_f(x) (x)
#define __nvvm_div_approx_ftz_f(x, y) (x)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
#include "ptx/vector.h"
#include "ptx/math.h"

static double ulp(double exact) {
  const float up = nextafterf(fabsf(float(exact)), INFINITY);
  return isinf(up) ? 0x1p104 : double(up) - fabs(double(float(exact)));
}

static double error(float got, double exact) {
  if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
  if (isinf(float(exact)) || isinf(got)) return got == float(exact) ? 0 : INFINITY;
  return fabs(double(got) - exact) / ulp(exact);
}

int main() {
  struct function {
    const char *name;
    float (*f)(float);
    double (*exact)(double);
    double worst;
    float at;
  } list[] = {
      {"exp", metal::precise::exp, exp, 0, 0},   {"exp2", metal::precise::exp2, exp2, 0, 0},
      {"log", metal::precise::log, log, 0, 0},   {"rsqrt", metal::precise::rsqrt, [](double x) { return 1 / sqrt(x); }, 0, 0},
  };
  for (function &f : list) {
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
      const float x = __builtin_bit_cast(float, uint32_t(bits));
      const double e = error(f.f(x), f.exact(x));
      if (!(e <= f.worst)) f.worst = e, f.at = x;
    }
    printf("%s %.3f %a\n", f.name, f.worst, double(f.at));
  }
}
