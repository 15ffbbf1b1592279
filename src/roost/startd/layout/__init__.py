"""The layout: which slots a machine has, what each gets, and how it changes while the machine is at work."""
