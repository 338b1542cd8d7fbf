// Pages of the cache whose rows are multiplied at once; one that is not there is another, of no rows.
template <uint PAGES> struct some_pages { uint number[PAGES], rows[PAGES]; };
