"""The C interface of DRMAA 1.0: `drmaa.h` and `drmaa.c`, which `roost shims drmaa` compiles, and what it talks to.

The library knows no more than lists of texts. It starts `serve` as a child when a session begins, hands it each call,
and gives its answer back, so that programs in C and in Python get the same behaviour from the same code.
"""
