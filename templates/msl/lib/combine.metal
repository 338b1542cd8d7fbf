// Results of a split in registers: WIDE columns, four or one. They are converted to floats only when they are
// added, so that a thread can load those of many splits before it waits for the first.
template <typename X, uint WIDE> struct parts_of { typedef float words; };
template <> struct parts_of<in_floats, 4> { typedef float4 words; };
template <> struct parts_of<in_halves, 4> { typedef uint2 words; };

static inline void load_words(in_floats x, uint i, thread float & w) { w = x.p[i]; }
static inline void load_words(in_halves x, uint i, thread float & w) { w = float(x.p[i]); }
static inline void load_words(in_floats x, uint i, thread float4 & w) { w = *(device const float4 *)(x.p + i); }
static inline void load_words(in_halves x, uint i, thread uint2 & w) { w = *(device const uint2 *)(x.p + i); }

static inline float part_at(float w, uint) { return w; }
static inline float part_at(float4 w, uint e) { return w[e]; }
static inline float part_at(uint2 w, uint e) { return e % 2u == 0u ? low_half(w[e / 2u]) : high_half(w[e / 2u]); }

// Merges the attention splits of one head, the exact flash-decode combine: m = max m_s, o = Σ e^(m_s-m) l_s
// o_s / Σ e^(m_s-m) l_s over the splits in use. A team of threads has all columns, and adds every TEAMS-th
// split. A split has `per` cache rows, so split s is in use if s per < nkv.
template <uint COUNT, uint HEADS, uint DIM, uint THREADS, uint TEAMS, typename X>
struct combine_splits {
  enum : uint {
    TURNS = (COUNT + 31u) / 32u,                          // a lane per split
    WIDE = DIM % 4u == 0u ? 4u : 1u,                      // columns per load
    TEAM = TEAMS > 1u || DIM / WIDE < THREADS ? DIM / WIDE : THREADS, // threads
    LOADS = (DIM / WIDE + TEAM - 1u) / TEAM,              // of a thread, per split
    OWN = (COUNT + TEAMS - 1u) / TEAMS,                   // splits of a team
    ROOM = LOADS < 8u ? 20u / LOADS : 2u,                 // splits whose loads fit the registers of a thread
    ROUNDS = (OWN + ROOM - 1u) / ROOM,
    AT_ONCE = (OWN + ROUNDS - 1u) / ROUNDS < ROOM / 4u * 4u ? ((OWN + ROUNDS - 1u) / ROUNDS + 3u) / 4u * 4u : uint(ROOM), // splits whose loads are in flight at once
    GROUP = AT_ONCE % 4u == 0u ? 4u : 1u,                 // splits that are skipped at once if they are not in use
    FLOATS = LOADS * WIDE,                                // of a thread, per split
    WHOLE = 32u % (GROUP * TEAMS) == 0u,                  // if a split of a group is in use, all have factors, maybe 0
  };
  typedef typename parts_of<X, WIDE>::words words_t;

  // Loads the thread's columns of splits first, first + TEAMS, …, group by group. In a group with splits in
  // use, the others get 0.
  static inline void load_parts(X out, uint head, uint first, uint per, uint nkv, thread words_t * v, uint tid) {
    UNROLL for (uint g = 0; g < AT_ONCE; g += GROUP) {
      if ((first + g * TEAMS) * per < nkv) {
        UNROLL for (uint i = g; i < g + GROUP; ++i) {
          const uint s = first + i * TEAMS;
          UNROLL for (uint j = 0; j < LOADS; ++j) {
            const uint c = (tid % TEAM + j * TEAM) * WIDE;
            v[i * LOADS + j] = words_t(0);
            if (s * per < nkv && c < DIM) load_words(out, (s * HEADS + head) * DIM + c, v[i * LOADS + j]);
          }
        }
      }
    }
  }

  // o += factors times the loaded columns.
  static inline void add_parts(threadgroup const float * factors, uint first, uint per, uint nkv, thread const words_t * v, thread float * o) {
    UNROLL for (uint g = 0; g < AT_ONCE; g += GROUP) {
      if ((first + g * TEAMS) * per < nkv) {
        UNROLL for (uint i = g; i < g + GROUP; ++i) {
          const uint s = first + i * TEAMS;
          const float factor = WHOLE || s * per < nkv ? factors[s] : 0.0f;
          UNROLL for (uint j = 0; j < FLOATS; ++j) o[j] = fma(factor, part_at(v[i * LOADS + j / WIDE], j % WIDE), o[j]);
        }
      }
    }
  }

  // Loads (m, l) of all splits; a lane has splits lane, lane + 32, …
  static inline void load_ml(device const float * ml, uint head, uint per, uint nkv, thread float * m, thread float * l, ushort lane) {
    UNROLL for (uint k = 0; k < TURNS; ++k) {
      const uint s = 32u * k + lane;
      m[k] = -1e30f;
      l[k] = 0.0f;
      if (s < COUNT && s * per < nkv) {
        const float2 both = *(device const float2 *)(ml + (s * HEADS + head) * 2u);
        m[k] = both.x;
        l[k] = both.y;
      }
    }
  }

  // Writes factors e^(m_s-m) l_s / Σ e^(m_s-m) l_s of the first 32 N splits; no later split is in use. Each
  // simdgroup computes m and the sum itself, and writes its share of the factors.
  template <uint N>
  static inline void weigh(thread float * m, thread const float * l, threadgroup float * factors, ushort sg, ushort lane) {
    float highest = -1e30f;
    UNROLL for (uint k = 0; k < N; ++k) highest = max(highest, m[k]);
    highest = simd_max(highest);
    float sum = 0.0f;
    UNROLL for (uint k = 0; k < N; ++k) {
      m[k] = exp(m[k] - highest) * l[k];
      sum += m[k];
    }
    const float scale = 1.0f / simd_sum(sum);
    UNROLL for (uint k = 0; k < N; ++k) {
      if (k % (THREADS / 32u) == sg) factors[32u * k + lane] = m[k] * scale;
    }
  }

  // scratch holds [32 TURNS] factors and [TEAMS - 1][DIM] sums.
  template <typename O>
  static inline void run(X out, device const float * ml, uint head, uint per, uint nkv, threadgroup float * scratch,
                         O merged, uint tid, ushort sg, ushort lane) {
    threadgroup float * factors = scratch;
    const uint team = tid / TEAM, rows = team < TEAMS ? nkv : 0u;
    float m[TURNS], l[TURNS], o[FLOATS] = {};
    words_t v[AT_ONCE * LOADS];
    load_ml(ml, head, per, nkv, m, l, lane);
    load_parts(out, head, team, per, rows, v, tid);
    LAUNCH_DEPENDENTS; // few loads are left here; the next dispatch may load its weights
    if (TURNS > 1u && 32u * per < nkv) {
      weigh<TURNS>(m, l, factors, sg, lane);
    } else {
      weigh<1>(m, l, factors, sg, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = team; s * per < rows;) {
      add_parts(factors, s, per, rows, v, o);
      s += AT_ONCE * TEAMS;
      load_parts(out, head, s, per, rows, v, tid);
    }
    threadgroup float * sums = scratch + 32u * TURNS;
    if (TEAMS > 1u) {
      UNROLL for (uint j = 0; j < FLOATS; ++j) {
        if (team > 0u && team < TEAMS) sums[(team - 1u) * DIM + column(j, tid)] = o[j];
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    UNROLL for (uint j = 0; j < FLOATS; ++j) {
      const uint c = column(j, tid);
      if (team == 0u && c < DIM) {
        for (uint t = 1; t < TEAMS; ++t) o[j] += sums[(t - 1u) * DIM + c];
        merged[c] = o[j];
      }
    }
  }

  // The column of a thread's sum j.
  static inline uint column(uint j, uint tid) { return (tid % TEAM + j / WIDE * TEAM) * WIDE + j % WIDE; }
};
