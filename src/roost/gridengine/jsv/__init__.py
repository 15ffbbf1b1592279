"""Job submission verifiers: programs that look at a submission, and may change or refuse it.

`protocol` is the conversation with one, `parameters` what it is told of a job and what its corrections make of the job,
`url` how the cell names one.
"""
