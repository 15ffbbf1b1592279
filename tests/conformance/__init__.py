"""Comparison of the ClassAd room with the reference library, case by case, on generated input.

`generators` makes cases from seeds, `ours` and `reference` answer them, `oracle` keeps the reference in a
process of its own, `comparison` holds the answers side by side, `differences` knows the intended ones,
`shrink` makes a failing case small, `adtest` writes it as a chunk for tests/language. Run with
``python -m tests.conformance --cases N --seed S``.
"""
