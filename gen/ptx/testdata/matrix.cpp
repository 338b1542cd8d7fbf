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

// Sixteen queries attend to three tiles of EACH keys and values, of blocks of columns, of which query
// t sees 4 t keys less one: none, ends within a tile and whole tiles. The second tile's scores are so
// much greater that sums shrink. Against attention in double; weights are rounded to halves.
template <uint EACH, uint COLUMNS, uint VALUES>
void check_heads() {
  constexpr uint DK = 8 * COLUMNS, V = 8 * VALUES, NOPE = DK - 8, TILES = 3;
  typedef head_lanes<2, COLUMNS, VALUES, EACH, 1> heads;
  static_assert(heads::KNOWN && !head_lanes<1, COLUMNS, VALUES, EACH, 1>::KNOWN && !head_lanes<2, COLUMNS, VALUES, EACH, 2>::KNOWN, "");
  static half nope[16][NOPE], pe[16][8], keys[TILES * EACH][DK], values[TILES * EACH][V];
  const auto number = [](uint i) { return half(float(int(i * 37 % 101) - 50) / 50); };
  for (uint i = 0; i < 16 * NOPE; ++i) nope[i / NOPE][i % NOPE] = number(i);
  for (uint i = 0; i < 16 * 8; ++i) pe[i / 8][i % 8] = number(i + 7);
  for (uint i = 0; i < TILES * EACH * DK; ++i) keys[i / DK][i % DK] = half(float(number(i * 3 + 1)) * (i / DK / EACH == 1 ? 40.0f : 1.0f));
  for (uint i = 0; i < TILES * EACH * V; ++i) values[i / V][i % V] = number(i * 5 + 2);
  static half out[16][V];
  static float references[16], sums[16][4];
  alignas(16) static half key_tile[EACH * DK], value_tile[V * EACH];
  const auto seen = [](uint t) { return min(4 * t + (t > 0 ? EACH / 2 - 1 : 0), TILES * EACH); };
  on_warp([&] {
    simdgroup_half8x8 q[2 * COLUMNS], w[EACH / 4];
    simdgroup_float8x8 o[2 * VALUES];
    for (simdgroup_float8x8 &m : o) m = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    uint behind[2];
    float scale[2] = {0.5f, 0.5f}, reference[2] = {-1e30f, -1e30f}, sum[2] = {};
    for (uint b = 0; b < 2; ++b) {
      const uint t = 8 * b + lane / 4;
      behind[b] = seen(t);
      heads::load_block(q + b * COLUMNS, nope[t], pe[t], NOPE, ushort(lane));
    }
    for (uint tile = 0; tile < TILES; ++tile) {
      exchange<uint> done(0); // all have attended to the tile before
      if (lane == 0) {
        for (uint k = 0; k < EACH; ++k) {
          for (uint c = 0; c < DK; ++c) key_tile[k * DK + heads::column_at(k, c / 8 * 8) + c % 8] = keys[tile * EACH + k][c];
          for (uint c = 0; c < V; ++c) value_tile[c * EACH + k] = values[tile * EACH + k][c];
        }
      }
      exchange<uint> there(0);
      heads::template attend_keys<DK>(q, w, o, key_tile, tile * EACH, behind, scale, reference, sum, ushort(lane));
      heads::template attend_values<EACH>(w, o, value_tile, sum, ushort(lane));
    }
    for (uint b = 0; b < 2; ++b) {
      const uint t = 8 * b + lane / 4;
      heads::store_block(o + b * VALUES, sum[b] > 0 ? 1 / sum[b] : 0, out[t], ushort(lane));
      references[t] = reference[b];
      sums[t][lane % 4] = sum[b];
    }
  });
  for (uint t = 0; t < 16; ++t) {
    const auto score = [&](uint k) {
      double s = 0;
      for (uint c = 0; c < DK; ++c) s += double(float(c < NOPE ? nope[t][c] : pe[t][c - NOPE])) * double(float(keys[k][c]));
      return s * 0.5;
    };
    double top = -1e30, total = 0, want[V] = {};
    for (uint k = 0; k < seen(t); ++k) top = max(top, score(k));
    for (uint k = 0; k < seen(t); ++k) {
      const double w = __builtin_exp(score(k) - top);
      total += w;
      for (uint c = 0; c < V; ++c) want[c] += w * double(float(values[k][c]));
    }
    for (uint c = 0; c < V; ++c) {
      const double got = double(float(out[t][c])), off = got - (total > 0 ? want[c] / total : 0), sum = double(sums[t][c % 4]);
      // A weight is off by 2^-11 of itself, and so is a result; values are at most 1.
      if (off < 1.5e-3 && off > -1.5e-3 && sum == double(sums[t][0]) && (sum > 0) == (seen(t) > 0) && references[t] <= float(top) + 10.4f) continue;
      printf("heads of %u columns, %u keys, query %u, column %u: %g, off by %g; sum %g\n", DK, EACH, t, c, got, off, sum);
      wrong = true;
    }
  }
}

// Sixteen rows and columns times as many, both loaded four blocks at once.
void check_loads() {
  constexpr uint ROW = 24;
  alignas(16) half a[16 * ROW], b[16 * ROW];
  float d[16][16];
  for (uint i = 0; i < 16 * ROW; ++i) a[i] = half(int(i * 7 % 11) - 5), b[i] = half(int(i * 5 % 13) - 6);
  on_warp([&] {
    simdgroup_half8x8 x[4], y[4];
    load_four<false>(x, a, ROW, ushort(lane));
    load_four<true>(y, b, ROW, ushort(lane));
    simdgroup_float8x8 m[4];
    for (uint i = 0; i < 4; ++i) m[i] = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    for (uint n = 0; n < 2; ++n) multiply_blocks<2, 2>(m + n, 2, x, 2, 1, y + n, 2);
    for (uint i = 0; i < 4; ++i) simdgroup_store(m[i], &d[i / 2 * 8][i % 2 * 8], 16);
  });
  for (uint i = 0; i < 256; ++i) {
    float want = 1.0f;
    for (uint k = 0; k < 16; ++k) want += float(a[i / 16 * ROW + k]) * float(b[k * ROW + i % 16]);
    if (d[i / 16][i % 16] == want) continue;
    printf("loads, element %u %u: %g, want %g\n", i / 16, i % 16, double(d[i / 16][i % 16]), double(want));
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
  check_loads();
  check_heads<16, 4, 2>();
  check_heads<32, 4, 4>();
  check_heads<32, 8, 4>();
  check_scaled();
  return wrong;
}
