// The factor on the scores of a row at a position; see plan.Temperature.
struct score_scales { float scale, temperature; uint length; };
static inline float scale_at(score_scales s, uint pos) {
  return s.temperature == 0.0f ? s.scale : s.scale * fma(s.temperature, log(float(pos / s.length + 1u)), 1.0f);
}
