// Multiplies matrices of 8 x 8 with <metal_simdgroup_matrix> on a warp of CPU threads,
// in all layouts, and compares with the product element by element. The elements are
// small integers, so that sums are exact in any order.
#include <metal_simdgroup_matrix>
#include <stdio.h>
#include <thread>
#include <vector>

using namespace metal;

namespace {
constexpr uint row = 16; // elements between rows in memory
constexpr ulong2 corner = {3 * 2, 1}; // the matrix begins at column 6 of row 1
float c[64], out[64];
bool wrong;

template <typename T>
T element(const T *m, bool transposed, uint r, uint k) {
  return transposed ? m[(corner.y + k) * row + corner.x + r] : m[(corner.y + r) * row + corner.x + k];
}

template <typename T>
void product(const T *a, const T *b, bool ta, bool tb, bool accumulate, bool td) {
  simdgroup_matrix<T, 8, 8> x, y;
  simdgroup_load(x, a, row, corner, ta);
  simdgroup_load(y, b, row, corner, tb);
  simdgroup_float8x8 z = make_filled_simdgroup_matrix<float, 8, 8>(5.0f);
  if (accumulate) simdgroup_load(z, c);
  simdgroup_multiply_accumulate(z, x, y, z);
  simdgroup_store(z, out, 8, 0, td);
}

// x = a b in T, stored as T.
template <typename T>
void plain(const T *a, const T *b, T *d, bool ta, bool tb, bool td) {
  simdgroup_matrix<T, 8, 8> x, y;
  simdgroup_load(x, a, row, corner, ta);
  simdgroup_load(y, b, row, corner, tb);
  simdgroup_multiply(x, x, y);
  simdgroup_store(x, d, row, corner, td);
}

void on_warp(auto f) {
  std::vector<std::thread> threads;
  for (uint l = 0; l < 32; ++l) threads.emplace_back([=] { lane = l; f(); });
  for (std::thread &t : threads) t.join();
}

template <typename T>
void check(const char *type) {
  T a[10 * row], b[10 * row], d[10 * row];
  for (uint i = 0; i < 10 * row; ++i) a[i] = T(int(i * 7 % 11) - 5), b[i] = T(int(i * 5 % 13) - 6), d[i] = T(0);
  for (uint i = 0; i < 64; ++i) c[i] = float(i);
  for (uint way = 0; way < 16; ++way) {
    const bool ta = way & 1, tb = way & 2, td = way & 4, accumulate = way & 8;
    on_warp([&] { product(a, b, ta, tb, accumulate, td); });
    on_warp([&] { plain(a, b, d, ta, tb, td); });
    for (uint i = 0; i < 64; ++i) {
      const uint r = i / 8, n = i % 8;
      float sum = 0;
      for (uint k = 0; k < 8; ++k) sum += float(element(a, ta, r, k)) * float(element(b, tb, k, n));
      const float want = sum + (accumulate ? c[i] : 5.0f), got = out[td ? n * 8 + r : i];
      if (got != want || float(element(d, td, r, n)) != sum) {
        printf("%s, way %u, element %u %u: %g and %g, want %g and %g\n", type, way, r, n, double(got), double(element(d, td, r, n)), double(want), double(sum));
        wrong = true;
      }
    }
  }
}

// Where the eights of a lane are in a row of inputs.
struct places {
  static constexpr uint ROW = 160;
  static uint place(uint p, uint j) { return 40 * p + 8 * j; }
};

// Sixteen rows of weights times sixteen inputs, for 32 columns: four lanes share a row, eight each.
void check_eights() {
  constexpr uint ROW = places::ROW, J = 2;
  half w[16][32];
  alignas(16) half x[16][ROW];
  float d[16][16];
  for (uint i = 0; i < 16 * 32; ++i) w[i / 32][i % 32] = half(int(i * 7 % 11) - 5);
  for (uint i = 0; i < 16 * ROW; ++i) x[i / ROW][i % ROW] = half(int(i * 5 % 13) - 6);
  on_warp([&] {
    half4 mine[4];
    for (uint i = 0; i < 16; ++i) mine[i / 4][i % 4] = w[lane / 4 + i / 8 * 8][lane % 4 * 8 + i % 8];
    simdgroup_float8x8 m[4];
    for (uint i = 0; i < 4; ++i) m[i] = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    multiply_eights<places, 2, 2>(m, mine, x[0], J, nullptr, ushort(lane));
    for (uint i = 0; i < 4; ++i) simdgroup_store(m[i], &d[i / 2 * 8][i % 2 * 8], 16);
  });
  for (uint i = 0; i < 256; ++i) {
    float want = 1.0f;
    for (uint k = 0; k < 32; ++k) want += float(w[i / 16][k]) * float(x[i % 16][places::place(k / 8, J) + k % 8]);
    if (d[i / 16][i % 16] == want) continue;
    printf("eights, row %u, input %u: %g, want %g\n", i / 16, i % 16, double(d[i / 16][i % 16]), double(want));
    wrong = true;
  }
}

// Two blocks times the same diagonal.
void check_scaled() {
  float a[128], diagonal[64] = {}, d[128];
  for (uint i = 0; i < 128; ++i) a[i] = float(i);
  for (uint i = 0; i < 8; ++i) diagonal[i * 9] = float(i) - 2.5f;
  on_warp([&] {
    simdgroup_float8x8 m[2];
    for (uint n = 0; n < 2; ++n) simdgroup_load(m[n], a + 64 * n);
    scale_rows<2>(m, diagonal);
    for (uint n = 0; n < 2; ++n) simdgroup_store(m[n], d + 64 * n);
  });
  for (uint i = 0; i < 128; ++i) {
    const float want = a[i] * diagonal[i % 64 / 8 * 9];
    if (d[i] == want) continue;
    printf("scaled, element %u: %g, want %g\n", i, double(d[i]), double(want));
    wrong = true;
  }
}
}

int main() {
  pthread_barrier_init(&warp, nullptr, 32);
  check<half>("half");
  check<float>("float");
  check_eights();
  check_scaled();
  return wrong;
}
