"""The commands that HTCondor's users know and use in scripts: ``condor_q`` and the like.

There is one module per command, each with `OPTIONS` (from which the manual's page is generated) and ``run(arguments) ->
int``. They are thin: they make the same requests as `roost`'s own commands, and decide nothing about jobs or machines.
This package has HTCondor's wording, its tables (in `printing`) and its exit statuses.

Scripts call such commands thousands of times, so start-up time matters: a module imports at its top only what every
call of it needs, and the ClassAd language is imported only when an expression has to be evaluated.
"""
