"""The jobs of a queue: the book of them, those that are idle, the states that they go through, when they recur."""
