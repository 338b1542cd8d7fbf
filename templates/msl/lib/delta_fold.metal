// Updates some columns of a head's state, by chunks of rows of one session, in order. The names are those of
// plan.DeltaFold, which has the formulas.
//
// LANES lanes share OWN columns. Each has 4 neighbouring keys out of 4 LANES. The products of a chunk's rows
// with the state do not depend on each other, so lanes add up the sums for TURN rows at once; a lane gets
// both sums for one of these rows and one column. While the state is updated, the vectors of the next chunk
// are loaded into registers.
template <uint DIM, uint COLUMNS, uint ROWS, uint SIMDGROUPS, uint LANES>
struct delta_fold {
  enum : uint {
    THREADS = 32u * SIMDGROUPS,
    OWN = COLUMNS * LANES / THREADS,                        // columns of a lane
    FOURS = DIM / (4u * LANES),                             // fours of keys of a lane
    STATE = OWN * FOURS,                                    // fours of a lane
    TURN = LANES / OWN,                                    // rows whose sums are added up at once
    TURNS = ROWS / TURN,
    SUMS = 2u * LANES,
    ALL = ROWS * DIM / 4u,                                  // fours of a vector of all rows
    LOADS = ALL / THREADS,                                  // of a thread
    // The layout of threadgroup memory.
    KNOWN_AT = 0u, SEEN_AT = ROWS * DIM, NEW_AT = 2u * ROWS * DIM, FLOATS = 3u * ROWS * DIM
  };

  // The first of a lane's keys, and the first of its columns, counted from the threadgroup's first column.
  static inline uint keys(uint tid) { return tid % LANES * 4u; }
  static inline uint column(uint tid) { return tid / LANES * OWN; }

  static inline void load_state(thread float4 * s, device const float * state, bool begins, uint tid) {
    UNROLL for (uint i = 0; i < STATE; ++i) {
      s[i] = float4(0.0f);
      if (!begins) s[i] = *(device const float4 *)(state + (column(tid) + i / FOURS) * DIM + keys(tid) + i % FOURS * 4u * LANES);
    }
  }

  static inline void store_state(thread const float4 * s, device float * state, uint tid) {
    UNROLL for (uint i = 0; i < STATE; ++i) *(device float4 *)(state + (column(tid) + i / FOURS) * DIM + keys(tid) + i % FOURS * 4u * LANES) = s[i];
  }

  // A thread's share of a chunk, in registers: vectors for threadgroup memory, and numbers that only this
  // thread needs.
  struct chunk {
    float4 known[LOADS], seen[LOADS], key[LOADS], kept[FOURS];
    float value[TURNS], own[TURNS];
  };

  static inline float4 four(row_floats in, uint row, uint c) { return *(device const float4 *)(in.first + ulong(row) * in.stride + c); }

  // The row of a turn, and the column, for which a lane gets the sums.
  static inline uint row(uint tid) { return tid % LANES / OWN; }
  static inline uint own_column(uint tid) { return column(tid) + tid % OWN; }

  // Loads rows [at, at + n). Rows beyond the end repeat the last row; move ignores them.
  static inline void load(thread chunk & p, row_floats known, row_floats seen, row_floats key, row_floats kept, row_floats value, row_floats own, uint at, uint n, uint tid) {
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      const uint of = i * THREADS + tid, r = of / (DIM / 4u), c = of % (DIM / 4u) * 4u, from = at + min(r, n - 1u);
      p.known[i] = four(known, from, c);
      p.seen[i] = four(seen, from, c);
      p.key[i] = four(key, from, c);
    }
    UNROLL for (uint i = 0; i < FOURS; ++i) p.kept[i] = four(kept, at + n - 1u, keys(tid) + i * 4u * LANES);
    UNROLL for (uint i = 0; i < TURNS; ++i) {
      const uint from = at + min(i * TURN + row(tid), n - 1u);
      p.value[i] = row_floats::at(value, from, own_column(tid));
      p.own[i] = row_floats::at(own, from, own_column(tid));
    }
  }

  static inline void put(thread const chunk & p, threadgroup float * m, uint tid) {
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      const uint at = (i * THREADS + tid) * 4u;
      *(threadgroup float4 *)(m + KNOWN_AT + at) = p.known[i];
      *(threadgroup float4 *)(m + SEEN_AT + at) = p.seen[i];
      *(threadgroup float4 *)(m + NEW_AT + at) = p.key[i];
    }
  }

  // The numbers that only this thread needs of the current chunk, while the next one is loaded.
  struct own_part { float4 kept[FOURS]; float value[TURNS], own[TURNS]; };

  static inline void take(thread own_part & x, thread const chunk & p) {
    UNROLL for (uint i = 0; i < FOURS; ++i) x.kept[i] = p.kept[i];
    UNROLL for (uint i = 0; i < TURNS; ++i) {
      x.value[i] = p.value[i];
      x.own[i] = p.own[i];
    }
  }

  static inline float dot_four(float4 a, float4 b, float sum) {
    sum = fma(a.x, b.x, sum);
    sum = fma(a.y, b.y, sum);
    sum = fma(a.z, b.z, sum);
    return fma(a.w, b.w, sum);
  }

  // The products of the state with Known and Seen, for the lane's row of a turn and its column.
  struct two { float known, seen; };

  static inline two ask(thread const float4 * s, uint turn, threadgroup const float * m, uint tid) {
    float sums[SUMS] = {};
    UNROLL for (uint r = 0; r < TURN; ++r) {
      UNROLL for (uint i = 0; i < FOURS; ++i) {
        threadgroup const float * at = m + (turn * TURN + r) * DIM + keys(tid) + i * 4u * LANES;
        const float4 known = *(threadgroup const float4 *)(at + KNOWN_AT), seen = *(threadgroup const float4 *)(at + SEEN_AT);
        UNROLL for (uint c = 0; c < OWN; ++c) {
          const uint of = 2u * (r * OWN + c);
          sums[of] = dot_four(s[c * FOURS + i], known, sums[of]);
          sums[of + 1u] = dot_four(s[c * FOURS + i], seen, sums[of + 1u]);
        }
      }
    }
    add_halves<LANES, LANES / 2u>(sums, ushort(tid));
    add_halves<LANES / 2u, LANES / 4u>(sums, ushort(tid));
    add_halves<LANES / 4u, LANES / 8u>(sums, ushort(tid));
    if (LANES > 8u) add_halves<LANES / 8u, LANES / 16u>(sums, ushort(tid));
    if (LANES > 16u) add_halves<LANES / 16u, LANES / 32u>(sums, ushort(tid));
    return two{sums[0], sums[1]};
  }

  // Updates the state by the n rows of the chunk in threadgroup memory. out points to the results of the first row.
  static inline void move(thread float4 * s, thread const own_part & x, uint n, device float * out, uint stride, threadgroup const float * m, uint tid) {
    float u[TURNS], o[TURNS];
    UNROLL for (uint t = 0; t < TURNS; ++t) {
      const two sums = ask(s, t, m, tid);
      u[t] = t * TURN + row(tid) < n ? x.value[t] - sums.known : 0.0f;
      o[t] = x.own[t] + sums.seen;
    }
    UNROLL for (uint i = 0; i < STATE; ++i) s[i] *= x.kept[i % FOURS];
    const uint first = tid % 32u / LANES * LANES; // lane of those that share the columns
    UNROLL for (uint r = 0; r < ROWS; ++r) {
      float of[OWN];
      UNROLL for (uint c = 0; c < OWN; ++c) of[c] = simd_shuffle(u[r / TURN], ushort(first + r % TURN * OWN + c));
      UNROLL for (uint i = 0; i < FOURS; ++i) {
        const float4 key = *(threadgroup const float4 *)(m + NEW_AT + r * DIM + keys(tid) + i * 4u * LANES);
        UNROLL for (uint c = 0; c < OWN; ++c) s[c * FOURS + i] = fma_four(key, of[c], s[c * FOURS + i]);
      }
    }
    UNROLL for (uint t = 0; t < TURNS; ++t) { // at the end, so that no branch separates the sums of two turns
      const uint r = t * TURN + row(tid);
      if (r < n) out[ulong(r) * stride + own_column(tid)] = o[t];
    }
  }

  static inline float4 fma_four(float4 a, float b, float4 c) {
    float4 v;
    v.x = fma(a.x, b, c.x);
    v.y = fma(a.y, b, c.y);
    v.z = fma(a.z, b, c.z);
    v.w = fma(a.w, b, c.w);
    return v;
  }
};
