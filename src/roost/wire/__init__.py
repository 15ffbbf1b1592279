"""The messages between daemons, commands and programs: conversion from bytes and back, and their subjects.

Every message is one JSON object with its `type` and the protocol version. Input is validated here, once and completely:
a message that is too large, is not JSON, has an unknown type, a field of another type or an ad that cannot be read
raises `WireError`, which says where. Nothing here does input or output.
"""
