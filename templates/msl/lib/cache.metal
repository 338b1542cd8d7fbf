// How latent caches keep their rows, by element type and columns W. A page has PAGE_ROWS rows.
// Both kinds of attention read rows by these functions, and store_kv writes by them:
//   rows                      where a row and those after it in its page are
//   at(cache, page, row)      these of a row of a page
//   skip(r, n)                moves on by n rows
//   get(r, i)                 element i from there on: column i % W of row i / W
//   put(cache, page, row, column, v, lane)
//                             stores an element; the lanes of a simdgroup have neighbouring columns,
//                             the first one a multiple of 32
// and, for kernels that multiply blocks of halves,
//   WIDEST                    columns in 16 bytes,
//   NEIGHBOURS                rows in front of a row whose scales may share 32 bytes with its own, and
//   columns<N>                N neighbouring columns of a row, 8 or WIDEST, on their way:
//   fetch_columns, fetch_scale
//                             load what is of this row alone, and what 32 bytes may share with
//                             other rows; both of row i after r, from a column on that N divides
//   write_halves              stores them as halves to memory that is aligned to 16 bytes
template <typename T, uint W> struct cache;
