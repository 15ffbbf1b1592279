"""How HTCondor's commands print ads: tables, ``-af``, ``-format``, ``-print-format``, and the long forms.

`values` are texts of values, `rows` ads from the pool or a file, `columns` the table engine, `renderers` the named
formats of values, `autoformat` and `print_format` the users' formats on the command line and in files, `documents`
whole ads. The default tables of commands are data in the same form, in the modules of the commands.
"""
