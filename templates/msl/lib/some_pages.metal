// Pages of the cache whose rows are multiplied at once. A page that does not exist has the number of another
// one, and 0 rows.
template <uint PAGES> struct some_pages { uint number[PAGES], rows[PAGES]; };
