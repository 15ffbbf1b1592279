"""What Roost answers otherwise than Grid Engine, and why: patterns of the command, its files and Grid Engine's answer.

A pattern is about one mistake, not about a command: whatever else is wrong with the same command is compared. A dot is
any character, also the end of a line.
"""

from __future__ import annotations

from typing import Final

DIFFERENT: Final[dict[str, str]] = {
    # Jobs.
    r"^qsub .*-m [beas]+ ": "Roost tells that it sends no mail",
    r"-binding '?(set |env |pe )?(linear|striding|explicit)": "Roost binds no processors, and says so",
    "you have no permission|must be (manager|operator)": "who runs the tests manages the pool",
    r"^qacct .*/accounting: No such file": "a cell without an accounting file has none, a pool has its database",
    r"^qsub .*-(pe \S+|t) (undefined|'')": "Grid Engine reads a script where a range says `undefined` or nothing",
    r"^q(sub|host) .*-l \S*\bh(ostname)?==?\S*.*can't resolve hostname": "a pool asks for no addresses of hosts that "
    "-l names",
    r"^qselect -(qs|pe) |^qsub .*-w v |^qhost -F ": "the hosts of the cell are not in the pool",
    r"^qalter .*-wd ": "Roost takes '' for the present directory, and changes nothing where another option fails",
    r"-js '?\d+[kKmMgG]": "Grid Engine takes `1K` for 1024",
    r"^q\w+ .*-c '?(:|1:-1:0)": "Grid Engine takes some times that are none",
    r"-A '[^']* .*Error reading answer list": "Grid Engine does not say what is wrong with an account",
    r"^qacct -d (-|\w*[a-z]|'')": "Roost says what is wrong with a number of days",
    r"^q(sub|alter) .*-masterq ": "of several things that are wrong with a job the command tells what it finds itself",
    r"^qalter .*-N @": "the command checks names before the queue looks for the job",
    r"^qsub .*(-hold_jid_ad \S+ -l|-t \S+ -hold_jid_ad|-q \S+ -N) ": "of several things that are wrong with a job the "
    "command tells what it finds itself",
    r"^qsub .*(-- -b|-dl \S+ -t -b) ": "what an option takes is read after all options are found",
    r"^qstat .*-l '?(\w+<=|mem_free = |hostname=template)": "Grid Engine's exit status is 1 for some values of -l",
    r"^qresub -\d": "an unknown option ends with another message",
    r"^qalter -pe \S+ \d+ \Z": "Grid Engine says nothing where no job is named",
    r"^qstat -s z": "which jobs have ended is another matter in each cell",
    # Files.
    r"^qconf -Me .*hostname \[": "Grid Engine looks for a host with such a name",
    r"^qconf -M\w+ t name a b\n": "Roost looks at the name first",
    r"^qconf -Ae .*complex_values s :s=.*unknown attribute name": "Roost reads the file from its beginning",
    "unrecognized characters after": "Grid Engine tells of the rest of a quota's line, too",
    r'^qconf -M\w+ .*#.*attribute "\w+" is missing': "for Grid Engine a `#` begins a comment within a line",
    r"^qconf -M?c .* -1\.5 .*must be a positive|type -1": "Grid Engine takes what begins with `-` for a number",
    r'maxujobs - .*value from string "-"': "the same",
    r"^qconf -Au .*type \n|^qconf -Mrqs t \{\n\Z": "Grid Engine has other words for what is missing, or none",
    r"error in disabled_week .*(without daytime_range|unrecognized token at end)": "Roost has other words for some "
    "calendars that cannot be read",
    r'attribute "\S+ \S+" is not a complex attribute': "Roost sees that two names stand where one may",
    r"^qconf -Mu .*\S\\\n\S": "Grid Engine puts a blank where some lines go on, Roost where blanks are",
    # Attributes and other options.
    r"^qconf -ah ' '": "a blank is no host",
    r"^qconf -[mdr]attr ckpt (when \d|ckpt_command \S*\$\))": "Grid Engine checks other values of checkpointing "
    "environments",
    r"^qconf -dattr hostgroup hostlist '?(\*|NONE=)": "Roost reads lists of hosts in another way",
    r"^qconf -dattr exechost user_lists \S*,,": "the same",
    r"^qconf -[dr]attr exechost complex_values '\S*\(": "what is not a list of values is refused in other words",
    r'^qconf -mattr (project|exechost|pe) \w+ .*"NONE" is not a valid list attribute': "Grid Engine changes no lists "
    "of users of these objects with -mattr",
    r'^qconf .*denied: \w+ "x{100}" does not exist': "Grid Engine cuts the message",
    r"^qconf -mattr userset entries (\w+),\1 ": "Grid Engine adds a member twice",
    r"^qconf -[madr]attr pe '' ": "Grid Engine says nothing",
    r"^qconf -(shgrp_tree (' '|-\d)|au \S+ -\d|de template) ?": "Grid Engine takes a second word for an option, or "
    "the other way round",
}
