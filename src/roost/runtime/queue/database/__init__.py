"""The tables of the queue's database, what is written to them, and what is read from them."""
