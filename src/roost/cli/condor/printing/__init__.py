"""How HTCondor's commands print ads: tables, ``-af``, ``-format``, ``-print-format``, and the long forms.

`values` are texts of values, `rows` ads as they come from the pool or a file, `columns` the table engine, `renderers`
the named ways to show a value, `autoformat` and `print_format` what users say on the command line and in files,
`documents` whole ads. The tables that commands print unasked are data in the same shape, beside the commands.
"""
