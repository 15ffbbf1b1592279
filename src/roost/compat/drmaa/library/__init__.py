"""The C interface of DRMAA 1.0: `drmaa.h` and `drmaa.c`, which `roost shims drmaa` compiles, and the process that it
talks to.

The library only handles lists of strings. It starts `serve` as a child when a session begins, passes each call to it,
and returns its answer, so that programs in C and in Python get the same behaviour from the same code.
"""
