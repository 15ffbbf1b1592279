"""The layout: which slots a machine has, what each gets, and how the layout changes at run time."""
