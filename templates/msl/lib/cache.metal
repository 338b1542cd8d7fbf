// The layout of latent caches, by element type T and columns W. A page has PAGE_ROWS rows.
// All forms of attention read rows with these functions, and store_kv writes with them:
//   rows                      a pointer to a row and to those after it in its page
//   at(cache, page, row)      the pointer to a row of a page
//   skip(r, n)                moves on by n rows
//   get(r, i)                 element i from that row on: column i % W of row i / W
//   put(cache, page, row, column, v, lane)
//                             stores an element; the lanes of a simdgroup have neighbouring columns,
//                             the first one a multiple of 32
// and, for kernels that multiply blocks of halves,
//   WIDEST                    columns in 16 bytes,
//   NEIGHBOURS                rows before a row whose scales may share 32 bytes with its own, and
//   columns<N>                N neighbouring columns of a row, 8 or WIDEST, in registers:
//   fetch_columns, fetch_scale
//                             load the row's own bytes, and the bytes that may share 32 bytes with
//                             other rows; both of row i after r, from a column that N divides
//   write_halves              stores the columns as halves to memory that is aligned to 16 bytes
template <typename T, uint W> struct cache;
