// Runs threadgroups of the kernels that expand heads of halves and attend to them, as they are translated
// for NVIDIA GPUs, on fibers, and compares with sums in double. kernels.cu and shape.h are of a model.
#include "kernels.cu"
#include "shape.h"

namespace {
typedef std::vector<half> halves;
constexpr uint WIDTH = 512, PAGES = 8, ROW = shape::NOPE + shape::PE;
constexpr uint VALUES = shape::HEADS * shape::NOPE * 64, ROTATED = VALUES + shape::HEADS * shape::V * 64, ELEMENTS = ROTATED + 64 * shape::PE;
constexpr half UNTOUCHED = half(-100.0f);
uint seed = 1;
bool wrong;

halves randoms(size_t n, float most) {
  halves v(n);
  for (half &h : v) {
    seed = seed * 1664525u + 1013904223u;
    h = half(float(int(seed >> 8) - (1 << 23)) / float(1 << 23) * most);
  }
  return v;
}

// Two tables of pages in different orders.
std::vector<uint> tables() {
  std::vector<uint> t(2 * shape::MAX_PAGES);
  for (uint i = 0; i < PAGES; ++i) t[i] = (3 * i + 1) % PAGES, t[shape::MAX_PAGES + i] = (5 * i + 2) % PAGES;
  return t;
}

// What a threadgroup has written, which must be all of what it is to write.
struct results {
  const halves &got;
  std::vector<bool> wanted;
  double most = 0;
  explicit results(const halves &got) : got(got), wanted(got.size()) {}
  void want(size_t at, double v) {
    const double off = __builtin_fabs(double(float(got[at])) - v);
    most = off <= most ? most : off;
    wanted[at] = true;
  }
  void check(const char *what, uint group, double limit) {
    size_t stray = 0;
    for (size_t i = 0; i < got.size(); ++i) stray += !wanted[i] && got[i] != UNTOUCHED;
    if (most <= limit && stray == 0) return;
    printf("%s, threadgroup %u, copies late %d: off by %g, %zu elsewhere\n", what, group, fibers::late, most, stray);
    wrong = true;
  }
};

void attend(const char *what, const std::vector<mla::Row> &rows, uint group) {
  const halves q = randoms(WIDTH * shape::HEADS * ROW, 2), heads = randoms(PAGES * ELEMENTS, 1);
  const std::vector<uint> table = tables();
  halves out(WIDTH * shape::HEADS * shape::V, UNTOUCHED);
  fibers::run(shape::THREADS, group, [&] { attention_x512(rows.data(), q.data(), heads.data(), table.data(), out.data()); });
  const uint each = shape::ROWS_PER_GROUP, head = group % shape::HEADS, first = ((WIDTH + each - 1) / each - 1 - group / shape::HEADS) * each;
  results r(out);
  for (uint row = first; row < metal::min(first + each, WIDTH); ++row) {
    std::vector<double> weights(rows[row].nkv), sums(shape::V);
    double top = -1e300, total = 0;
    const auto page = [&](uint k) { return heads.data() + size_t(table[rows[row].table * shape::MAX_PAGES + k / 64]) * ELEMENTS; };
    for (uint k = 0; k < rows[row].nkv; ++k) {
      for (uint c = 0; c < ROW; ++c) {
        const half key = c < shape::NOPE ? page(k)[(head * 64 + k % 64) * shape::NOPE + c] : page(k)[ROTATED + k % 64 * shape::PE + c - shape::NOPE];
        weights[k] += double(float(q[(row * shape::HEADS + head) * ROW + c])) * double(float(key)) * shape::SCALE;
      }
      top = weights[k] > top ? weights[k] : top;
    }
    for (uint k = 0; k < rows[row].nkv; ++k) {
      const double w = __builtin_exp(weights[k] - top);
      total += w;
      for (uint c = 0; c < shape::V; ++c) sums[c] += w * double(float(page(k)[VALUES + (head * shape::V + c) * 64 + k % 64]));
    }
    for (uint c = 0; c < shape::V && total > 0; ++c) r.want((row * shape::HEADS + head) * shape::V + c, sums[c] / total);
  }
  r.check(what, group, 2e-3); // weights and results are rounded to halves
}

// Keys or values of pages of which the last is not full.
void expand(uint nkv, uint group) {
  constexpr uint LATENT = shape::LAT + shape::PE, KEY_UNITS = (shape::NOPE + 63) / 64, VALUE_UNITS = (shape::V + 127) / 128;
  constexpr uint KEY_GROUPS = shape::HEADS * KEY_UNITS * shape::KEY_SHARES;
  const halves cache = randoms(PAGES * 64 * LATENT, 1), k = randoms(shape::HEADS * shape::LAT * shape::NOPE, 0.05f), v = randoms(shape::HEADS * shape::V * shape::LAT, 0.05f);
  const std::vector<uint> table = tables();
  std::vector<mla::Row> rows(WIDTH);
  for (uint i = 0; i < 60; ++i) rows[7 * i] = {0, 0, nkv - 59 + i, 0}; // the others are dead
  const mla::expand_keys_expand_values_x512_args args{shape::LAT, shape::V}; // rows of a head
  halves heads(PAGES * ELEMENTS, UNTOUCHED);
  fibers::run(128, group, [&] { expand_keys_expand_values_x512_f16_f16_f16(rows.data(), (const uchar *)k.data(), (const uchar *)cache.data(), table.data(), heads.data(), (const uchar *)v.data(), args); });
  const bool keys = group < KEY_GROUPS;
  const uint number = keys ? group : group - KEY_GROUPS, shares = keys ? shape::KEY_SHARES : shape::VALUE_SHARES, units = keys ? KEY_UNITS : VALUE_UNITS;
  const uint share = number % shares, head = number / shares / units, columns = keys ? 64 : 128, first = number / shares % units * columns, dim = keys ? shape::NOPE : shape::V;
  results r(heads);
  for (uint j = 0; 64 * j < nkv; ++j) {
    if ((keys ? j / 2 : j) % shares != share) continue;
    for (uint row = 0; row < 64; ++row) {
      const uint at = metal::min(64 * j + row, nkv - 1);
      const half *latent = cache.data() + (table[at / 64] * 64 + at % 64) * LATENT;
      const size_t page = size_t(table[j]) * ELEMENTS;
      for (uint c = first; c < metal::min(first + columns, dim); ++c) {
        double sum = 0;
        for (uint l = 0; l < shape::LAT; ++l) sum += double(float(latent[l])) * double(float(keys ? k[(head * shape::LAT + l) * dim + c] : v[(head * dim + c) * shape::LAT + l]));
        r.want(page + (keys ? (head * 64 + row) * dim + c : VALUES + (head * dim + c) * 64 + row), sum);
      }
      for (uint c = 0; keys && head == 0 && first == 0 && c < shape::PE; ++c) r.want(page + ROTATED + row * shape::PE + c, double(float(latent[shape::LAT + c])));
    }
  }
  r.check("heads", group, 2e-3);
}
}

int main() {
  std::vector<mla::Row> prompt(WIDTH), mixed(WIDTH);
  for (uint i = 0; i < WIDTH; ++i) {
    prompt[i] = {0, 30 + i, 31 + i, 0};
    mixed[i] = i % 50 == 20 ? mla::Row{} : mla::Row{0, i % 90, i % 90 + 1, i / 40 % 2};
  }
  constexpr uint LAST = (WIDTH + shape::ROWS_PER_GROUP - 1) / shape::ROWS_PER_GROUP - 1, VALUE_GROUPS = shape::HEADS * ((shape::NOPE + 63) / 64) * shape::KEY_SHARES;
  for (bool late : {false, true}) {
    fibers::late = late;
    attend("a prompt", prompt, shape::HEADS * LAST + 1);
    attend("a prompt's end", prompt, shape::HEADS - 1);
    attend("several sessions", mixed, shape::HEADS * (LAST - 1) + 2);
    for (uint group : {0u, 1u, 2u, shape::KEY_SHARES * 2 + 1, VALUE_GROUPS, VALUE_GROUPS + 4, VALUE_GROUPS + 3 * shape::VALUE_SHARES + 1}) expand(300, group);
  }
  return wrong;
}
