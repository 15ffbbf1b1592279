"""The commands that HTCondor's users have in their fingers and in their scripts: ``condor_q`` and its kin.

One module a command, each with `OPTIONS` (what may be written behind it, which the manual's page is made from) and
``run(arguments) -> int``. They are thin: what is asked and what is done goes through the same requests as `roost`'s own
commands, and nothing about jobs or machines is decided here. What is here is HTCondor's words, its tables (in
`printing`) and its exit statuses.

Scripts call such commands thousands of times, so that starting counts: a module imports at its top only what every
call of it needs, and the ClassAd language is imported when an expression has to be evaluated.
"""
