// The weights of a simdgroup on their way to products with many inputs, see product.metal.
//
// Sixteen bytes on their way to threadgroup memory, from where they are as aligned as multiples of ALIGN bytes.
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

// Where the rows that a lane reads begin.
template <uint R> struct row_pointers { device const uchar * at[R]; };

// Where a simdgroup has its rows' weights of the next steps: BUFFERS of threadgroup memory, as many as ROOM
// bytes hold, 4 at most; none: in registers. Copies hold no registers: the assembler of a GPU that is short
// of these moves loads down to where they are used, and each step then waits for memory. One lane
// copies what several multiply.
template <typename T, uint COLS, uint R, uint ROOM>
struct weight_buffers {
  typedef lane_words<T, COLS> words_t;
  enum : uint { BYTES = R * (512u * words_t::SIXTEENS + 128u / words_t::SHARERS * words_t::WORDS) }; // of all lanes
  enum : uint { FIT = BYTES > 0u ? ROOM / (BYTES > 0u ? BYTES : 1u) : 0u, BUFFERS = FIT < 4u ? FIT : 4u };
};

// Steps in threadgroup memory: of a buffer the sixteens of all rows, then their words.
template <typename T, uint COLS, uint R, uint BYTES, uint BUFFERS>
struct coming_steps {
  typedef lane_words<T, COLS> words_t;
  enum : uint { AHEAD = BUFFERS, LATER = BUFFERS - 1u, END = BYTES * BUFFERS };
  enum : bool { SINGLE = BUFFERS == 1u, LATE = false };
  threadgroup uchar * memory;
  uint at; // the buffer of the step that is taken next, in bytes

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

  // Into the buffer at hand, whose step has been taken.
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

// One step in registers. Columns after the last one may be any weights: their inputs are 0.
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

// None: two steps would leave a thread no registers for its results.
struct no_steps {
  enum : uint { AHEAD = 1, LATER = 4 };
  enum : bool { SINGLE = false, LATE = true };
  static inline void begin_coming(thread no_steps &, threadgroup uchar *) {}
  template <uint R>
  static inline void send(thread no_steps &, thread const row_pointers<R> &, uint, ushort) {}
  template <typename RUN>
  static inline void take_coming(thread const no_steps &, thread RUN *, uint, ushort) {}
};

// Which of these: weights of four bytes are fetched when a prompt's inputs are multiplied by them.
template <typename T, uint COLS, uint R, uint ROOM, bool MANY>
struct steps_of {
  typedef weight_buffers<T, COLS, R, ROOM> buffers;
  typedef coming_steps<T, COLS, R, buffers::BYTES, buffers::BUFFERS> type;
};
template <typename T, uint COLS, uint R, uint ROOM>
struct steps_of<T, COLS, R, ROOM, true> { typedef no_steps type; };

// The lane's rows of a matrix of COLS columns, what it has of a step of them, and where the next steps are.
template <typename T, uint COLS, uint R, uint TOKENS, uint ROOM>
struct weight_rows {
  typedef typename steps_of<T, COLS, R, ROOM, (TOKENS > 32u && sizeof(typename T::run) * R > 256u)>::type steps_t;
  // AHEAD: how many steps are prefetched before the first is used; LATER: how many of those after a step that is used
  // may be on their way as copies, of which registers have none.
  enum : uint { AHEAD = steps_t::AHEAD, LATER = steps_t::LATER, ROW_BLOCKS = R };
  enum : bool { LATE = steps_t::LATE, SINGLE = steps_t::SINGLE }; // SINGLE: one buffer: what was sent last is taken next
  row_pointers<R> rows;
  typename T::run now[R];
  steps_t coming;

  // Rows from first on; after the last row come copies of it, whose results go nowhere.
  static inline void begin(thread weight_rows & w, device const uchar * matrix, uint first, uint last, threadgroup uchar * room, ushort lane) {
    begin_rows(w, matrix, first, last, lane);
    steps_t::begin_coming(w.coming, room);
  }
  // Loads are of these rows from now on; those in flight stay.
  static inline void begin_rows(thread weight_rows & w, device const uchar * matrix, uint first, uint last, ushort lane) {
    UNROLL for (uint r = 0; r < R; ++r) w.rows.at[r] = matrix + ulong(min(first + lane / 4u + 8u * r, last)) * T::row_bytes(COLS);
  }

  // Begins to load a step, in the order of use: the first AHEAD ones, then after each
  // take for the step that is AHEAD of it. Before a take all lanes' copies have arrived, and all lanes
  // have taken before one sends: a lane takes what others have copied.
  static inline void send_step(thread weight_rows & w, uint step, ushort lane) { steps_t::send(w.coming, w.rows, step, lane); }
  static inline void take(thread weight_rows & w, uint step, ushort lane) { steps_t::take_coming(w.coming, w.now, step, lane); }

  static inline void send_first(thread weight_rows & w, uint first, uint stride, ushort lane) {
    UNROLL for (uint i = 0; i < AHEAD; ++i) send_step(w, first + i * stride, lane);
  }

  // Before the eights of a step that has been taken are multiplied: others need no registers.
  static inline void fetch_late(thread weight_rows & w, uint step, ushort lane) {
    UNROLL for (uint r = 0; steps_t::LATE && r < R; ++r) T::template fetch_run<COLS>(w.rows.at[r], min(step, (COLS - 1u) / STEP), lane % 4u, w.now[r]);
  }

  // The eights j of the lane's rows.
  template <uint PIECE>
  static inline void decode(thread const weight_rows & w, uint j, thread half4 * v) {
    UNROLL for (uint i = 0; i < 2u * R; ++i) v[i] = piece_of<T, PIECE>(w.now[i / 2u], j, i % 2u);
  }
};

// In the place of a second matrix where there is none.
struct no_weights {
  enum : uint { AHEAD = 4, LATER = 4 }; // no less than others
  enum : bool { LATE = false, SINGLE = false };
  static inline void begin(thread no_weights &, device const uchar *, uint, uint, threadgroup uchar *, ushort) {}
  static inline void begin_rows(thread no_weights &, device const uchar *, uint, uint, ushort) {}
  static inline void send_step(thread no_weights &, uint, ushort) {}
  static inline void take(thread no_weights &, uint, ushort) {}
  static inline void fetch_late(thread no_weights &, uint, ushort) {}
};
