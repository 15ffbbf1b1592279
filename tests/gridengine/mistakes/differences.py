"""What Roost answers otherwise than Grid Engine, and why: patterns of the command and Grid Engine's answer."""

from __future__ import annotations

from typing import Final

DIFFERENT: Final[dict[str, str]] = {
    # Jobs.
    r"^qsub .*-m [beas]": "Roost tells that it sends no mail",
    "-binding": "Roost binds no processors, and says so",
    "you have no permission|must be (manager|operator)": "who runs the tests manages the pool",
    "^qacct": "a cell without an accounting file has none, a pool has its database",
    "no input read from stdin": "Grid Engine reads a script where a range says `undefined` or has no end",
    r"can't resolve hostname": "a pool does not ask for addresses of hosts that jobs name",
    "^qselect -(qs|pe)|-w [vpew]|^qhost -F|-wd": "the hosts of the cell are not in the pool",
    "-js ": "Grid Engine takes `1K` for 1024",
    r"^\S+ .*-c '?[^ ]*[:,]": "Grid Engine takes some times that are none",
    r"^qalter .*-(t|masterq|N) ": "the command itself checks, in the words of qsub",
    r"-hold_jid_ad .*-l |-t .*-hold_jid_ad|-q .*-N ": "the command checks some things before the queue sees the job",
    r"-- -b|-dl .*-t -b": "what an option takes is read after all options are found",
    r"^qhold .*\.99": "Grid Engine leaves out tasks that there are not, and says nothing",
    r"^qstat .*-l ": "Grid Engine's exit status is 1 where no queue has what is asked for",
    r"^qresub -": "an unknown option ends with another message",
    # Files.
    "unrecognized characters after": "Grid Engine tells of the rest of a quota's line, too",
    r'attribute "slots" is missing': "for Grid Engine a `#` within a line is a comment, as is the next line",
    r'parameter "(type|consumable)" must be a positive': "Grid Engine takes what begins with `-` for a number",
    r'value from string "-"': "the same",
    r"empty specifier|^qconf -Mrqs t $": "Grid Engine has other words for what is missing, or none",
    "error in disabled_": "Roost has other words for some calendars that cannot be read",
    r"is not a complex attribute": "Roost sees that two names stand where one may",
    r"\S\\\n\S": "Grid Engine puts a blank where some lines go on, Roost where blanks are",
    # Attributes and other options.
    r"^qconf -[madr]attr ckpt": "Grid Engine checks other values of checkpointing environments",
    r"^qconf -[madr]attr (exechost|hostgroup) \S+ '?[^ ]*[*,=\[]": "Roost reads lists of hosts in another way",
    r"^qconf -[madr]attr userset entries": "Grid Engine takes no member out of a list of users, and adds one twice",
    r"^qconf -[madr]attr pe ''": "Grid Engine says nothing",
    r"^qconf -(shgrp_tree|shgrp|au|du|de) ": "Grid Engine takes a second word for an option, or the other way round",
}
