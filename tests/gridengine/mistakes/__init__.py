"""Bad cells, bad requests and bad files, drawn by a grammar, and what Grid Engine 8.1.9 made of them."""
