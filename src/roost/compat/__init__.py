"""Stand-ins for the Python bindings of other systems, so that programs written for those run on Roost unchanged.

`roost shims python` puts packages of the names that programs import (`htcondor2`, `classad2`, `htcondor`, `classad`,
`drmaa`) on the PYTHONPATH; they only pass on what is here. Nothing of this room needs more than the standard library,
so any interpreter that programs use can import it. Behaviour is that of the originals, compared with them in tests.
"""
