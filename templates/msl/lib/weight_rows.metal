// Loading the weights of a simdgroup for products with many inputs, see product.metal.
//
// Starts the copy of sixteen bytes, aligned to ALIGN bytes, to threadgroup memory.
template <uint ALIGN>
static inline void copy_sixteen(threadgroup uint4 * to, device const uchar * from) {
  if (ALIGN % 16u == 0u) {
    whole_copy<uint4>::begin_whole(to, (device const uint4 *)from);
  } else if (ALIGN % 8u == 0u) {
    UNROLL for (uint i = 0; i < 2u; ++i) whole_copy<uint2>::begin_whole((threadgroup uint2 *)to + i, (device const uint2 *)from + i);
  } else {
    UNROLL for (uint i = 0; i < 4u; ++i) whole_copy<uint>::begin_whole((threadgroup uint *)to + i, (device const uint *)from + i);
  }
}

// The starts of the rows that a lane reads.
template <uint R> struct row_pointers { device const uchar * at[R]; };

// The buffers for the weights of the next steps in threadgroup memory: as many as fit ROOM bytes, at most 4;
// 0: registers hold the next step. Copies take no registers. If loads into registers take too many, the
// assembler moves them down to their use, and each step waits for memory. One lane copies what several lanes
// multiply.
template <typename T, uint COLS, uint R, uint ROOM>
struct weight_buffers {
  typedef lane_words<T, COLS> words_t;
  enum : uint { BYTES = R * (512u * words_t::SIXTEENS + 128u / words_t::SHARERS * words_t::WORDS) }; // of all lanes
  enum : uint { FIT = BYTES > 0u ? ROOM / (BYTES > 0u ? BYTES : 1u) : 0u, BUFFERS = FIT < 4u ? FIT : 4u };
};

// Steps in threadgroup memory. A buffer has the sixteens of all rows, then their words.
template <typename T, uint COLS, uint R, uint BYTES, uint BUFFERS>
struct coming_steps {
  typedef lane_words<T, COLS> words_t;
  enum : uint { AHEAD = BUFFERS, LATER = BUFFERS - 1u, END = BYTES * BUFFERS };
  enum : bool { SINGLE = BUFFERS == 1u, LATE = false };
  threadgroup uchar * memory;
  uint at; // byte offset of the buffer that is taken next

  static inline void begin_coming(thread coming_steps & s, threadgroup uchar * room) {
    s.memory = room;
    s.at = 0u;
  }
  static inline threadgroup uint4 * sixteen_of(thread const coming_steps & s, uint r, uint i, ushort lane) {
    return (threadgroup uint4 *)(s.memory + s.at) + (r * words_t::SIXTEENS + i) * 32u + lane;
  }
  static inline threadgroup uint * word_of(thread const coming_steps & s, uint r, uint i, ushort lane) {
    return (threadgroup uint *)(s.memory + s.at + R * words_t::SIXTEENS * 512u) + (r * words_t::WORDS + i) * (32u / words_t::SHARERS) + lane / words_t::SHARERS;
  }

  // Copies a step into the current buffer, whose step has been taken.
  static inline void send(thread coming_steps & s, thread const row_pointers<R> & rows, uint step, ushort lane) {
    if (step * STEP < COLS) {
      UNROLL for (uint r = 0; r < R; ++r) {
        UNROLL for (uint i = 0; i < words_t::SIXTEENS; ++i)
          if (words_t::owner(lane % 4u, i) == lane % 4u) copy_sixteen<words_t::ALIGN>(sixteen_of(s, r, i, lane), words_t::sixteen(rows.at[r], step, lane % 4u, i));
        UNROLL for (uint i = 0; i < words_t::WORDS; ++i)
          if (lane % words_t::SHARERS == 0u) whole_copy<uint>::begin_whole(word_of(s, r, i, lane), (device const uint *)words_t::word(rows.at[r], step, lane % 4u, i));
      }
    }
    s.at = s.at + BYTES == END ? 0u : s.at + BYTES;
  }

  static inline void take_coming(thread const coming_steps & s, thread typename T::run * now, uint step, ushort lane) {
    UNROLL for (uint r = 0; r < R; ++r) {
      uint4 q[words_t::SIXTEENS];
      uint w[words_t::WORDS > 0u ? words_t::WORDS : 1u];
      UNROLL for (uint i = 0; i < words_t::SIXTEENS; ++i) q[i] = *sixteen_of(s, r, i, lane - lane % 4u + words_t::owner(lane % 4u, i));
      UNROLL for (uint i = 0; i < words_t::WORDS; ++i) w[i] = *word_of(s, r, i, lane);
      words_t::join(q, w, step, lane % 4u, now[r]);
    }
  }
};

// The next step in registers. Columns beyond the last one may get any weights: their inputs are 0.
template <typename T, uint COLS, uint R, uint BYTES>
struct coming_steps<T, COLS, R, BYTES, 0> {
  enum : uint { AHEAD = 1, LATER = 4 };
  enum : bool { SINGLE = false, LATE = false };
  typename T::run next[R];

  static inline void begin_coming(thread coming_steps &, threadgroup uchar *) {}
  static inline void send(thread coming_steps & s, thread const row_pointers<R> & rows, uint step, ushort lane) {
    UNROLL for (uint r = 0; r < R; ++r) T::template fetch_run<COLS>(rows.at[r], min(step, (COLS - 1u) / STEP), lane % 4u, s.next[r]);
  }
  static inline void take_coming(thread const coming_steps & s, thread typename T::run * now, uint, ushort) {
    UNROLL for (uint r = 0; r < R; ++r) now[r] = s.next[r];
  }
};

// No next step: two steps would leave too few registers for results.
struct no_steps {
  enum : uint { AHEAD = 1, LATER = 4 };
  enum : bool { SINGLE = false, LATE = true };
  static inline void begin_coming(thread no_steps &, threadgroup uchar *) {}
  template <uint R>
  static inline void send(thread no_steps &, thread const row_pointers<R> &, uint, ushort) {}
  template <typename RUN>
  static inline void take_coming(thread const no_steps &, thread RUN *, uint, ushort) {}
};

// Selects one of the three. Weights of four bytes are loaded only when a prompt's inputs are multiplied by
// them (MANY).
template <typename T, uint COLS, uint R, uint ROOM, bool MANY>
struct steps_of {
  typedef weight_buffers<T, COLS, R, ROOM> buffers;
  typedef coming_steps<T, COLS, R, buffers::BYTES, buffers::BUFFERS> type;
};
template <typename T, uint COLS, uint R, uint ROOM>
struct steps_of<T, COLS, R, ROOM, true> { typedef no_steps type; };

// The lane's rows of a matrix of COLS columns: its part of the current step, and the next steps.
template <typename T, uint COLS, uint R, uint TOKENS, uint ROOM>
struct weight_rows {
  typedef typename steps_of<T, COLS, R, ROOM, (TOKENS > 32u && sizeof(typename T::run) * R > 256u)>::type steps_t;
  // AHEAD: number of steps that are prefetched before the first is used. LATER: number of copies of later steps
  // that may be in flight while a step is used. Loads into registers are no copies.
  enum : uint { AHEAD = steps_t::AHEAD, LATER = steps_t::LATER, ROW_BLOCKS = R };
  enum : bool { LATE = steps_t::LATE, SINGLE = steps_t::SINGLE }; // SINGLE: one buffer, so the last copy is taken next
  row_pointers<R> rows;
  typename T::run now[R];
  steps_t coming;

  // Begins with rows from first on. Rows beyond the last repeat it; their results are not stored.
  static inline void begin(thread weight_rows & w, device const uchar * matrix, uint first, uint last, threadgroup uchar * room, ushort lane) {
    begin_rows(w, matrix, first, last, lane);
    steps_t::begin_coming(w.coming, room);
  }
  // Later loads are of these rows. Loads in flight continue.
  static inline void begin_rows(thread weight_rows & w, device const uchar * matrix, uint first, uint last, ushort lane) {
    UNROLL for (uint r = 0; r < R; ++r) w.rows.at[r] = matrix + ulong(min(first + lane / 4u + 8u * r, last)) * T::row_bytes(COLS);
  }

  // send_step starts to load a step. Steps are loaded in order of use: first AHEAD steps, then after each take
  // the step that is AHEAD after it. The copies of all lanes must have arrived before a take, and all lanes
  // must have taken before the next send_step, because lanes take what others have copied.
  static inline void send_step(thread weight_rows & w, uint step, ushort lane) { steps_t::send(w.coming, w.rows, step, lane); }
  static inline void take(thread weight_rows & w, uint step, ushort lane) { steps_t::take_coming(w.coming, w.now, step, lane); }

  static inline void send_first(thread weight_rows & w, uint first, uint stride, ushort lane) {
    UNROLL for (uint i = 0; i < AHEAD; ++i) send_step(w, first + i * stride, lane);
  }

  // Loads the weights of a LATE format, just before the step is multiplied.
  static inline void fetch_late(thread weight_rows & w, uint step, ushort lane) {
    UNROLL for (uint r = 0; steps_t::LATE && r < R; ++r) T::template fetch_run<COLS>(w.rows.at[r], min(step, (COLS - 1u) / STEP), lane % 4u, w.now[r]);
  }

  // Decodes eight j of the lane's rows.
  template <uint PIECE>
  static inline void decode(thread const weight_rows & w, uint j, thread half4 * v) {
    UNROLL for (uint i = 0; i < 2u * R; ++i) v[i] = piece_of<T, PIECE>(w.now[i / 2u], j, i % 2u);
  }
};

// Stands for a second matrix if there is none.
struct no_weights {
  enum : uint { AHEAD = 4, LATER = 4 }; // the largest values, so that the first matrix decides
  enum : bool { LATE = false, SINGLE = false };
  static inline void begin(thread no_weights &, device const uchar *, uint, uint, threadgroup uchar *, ushort) {}
  static inline void begin_rows(thread no_weights &, device const uchar *, uint, uint, ushort) {}
  static inline void send_step(thread no_weights &, uint, ushort) {}
  static inline void take(thread no_weights &, uint, ushort) {}
  static inline void fetch_late(thread no_weights &, uint, ushort) {}
};
