"""Job submission verifiers: programs that check a submission, and may change or refuse it.

`protocol` is the exchange with one, `parameters` the parameters of a job and the effect of corrections, `url` the
naming of verifiers in a cell.
"""
