"""Results of simulations for people: figures, HTML, pictures, comparisons."""
