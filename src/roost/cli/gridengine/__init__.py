"""Grid Engine's commands on a Roost pool: the same options, tables, words and exit statuses.

`roost shims gridengine` puts them on the PATH of a shell and sets SGE_ROOT and SGE_CELL. `names` lists the commands,
`entry` runs one, `options` reads arguments, `asking` finds the pool; every other module is a command or a part of one.

An option that cannot act yet is refused, or, where programs rely on its being accepted, answered with a warning; never
is one ignored in silence.
"""
