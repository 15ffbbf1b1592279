"""Stand-ins for the Python bindings of other systems, so that programs written for those run on Roost unchanged.

`roost shims python` puts packages with the names that programs import (`htcondor2`, `classad2`, `htcondor`, `classad`,
`drmaa`) on the PYTHONPATH; they only re-export what is here. This room needs only the standard library, so any
interpreter that programs use can import it. Behaviour is that of the originals, as tests compare.
"""
