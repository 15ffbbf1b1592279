"""The table of all ads of the pool, with expiry and queries. Pure: it keeps ads, and answers questions about them."""
