"""The messages between daemons, commands and programs: bytes to model and back, and the subjects they travel on.

Every message is one JSON object with its `type` and the version of the protocol in it. What comes in is checked here,
once and completely: a message that is too large, is not JSON, has an unknown type, a field of another type or an ad
that cannot be read raises `WireError`, which says where. Nothing here does input or output.
"""
