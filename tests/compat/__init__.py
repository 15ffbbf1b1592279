"""The stand-ins for Python bindings: compared with HTCondor's own, and at work on a real pool."""
