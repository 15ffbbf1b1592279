"""Grid Engine's commands on a Roost pool: the same options, tables, words and exit statuses.

`roost shims gridengine` puts them on the PATH of a shell and sets SGE_ROOT and SGE_CELL. `names` lists the commands,
`entry` runs one, `options` parses arguments, `asking` finds the pool; every other module is a command or part of one.

An option without an implementation is refused, or, if programs rely on its being accepted, causes a warning; none is
ever silently ignored.
"""
