"""Hook programs for tests of pools, in three languages, and the configuration that names them."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Final

#: Hands out the ads of a directory, a file for each, none of them twice.
FETCH_SH: Final = """\
#!/bin/sh
# A slot that is at work asks too: for what it would rather do. There is no such thing here.
grep -q '^Activity = "Busy"' && exit 0
for ad in @WORK@/todo/*; do
    [ -e "$ad" ] || exit 0
    mv "$ad" @WORK@/taken/ 2>/dev/null || continue
    cat "@WORK@/taken/${ad##*/}"
    exit 0
done
"""

#: Notes what it was told, in Perl: the word, and attributes of both ads.
TOLD_PL: Final = """\
#!/usr/bin/perl
use strict;
my ($job, $slot) = split /^-----\\n/m, join("", <STDIN>);
my ($hook) = $0 =~ m{([^/]+)$};
my %found;
for my $line (split /\\n/, $job) { $found{$1} = $2 if $line =~ /^(\\w+) = "?(.*?)"?$/ }
my ($name) = $slot =~ /^Name = "(.*?)@/m;
my $claim = $slot =~ /^ClaimId = /m ? "claim" : "no-claim";
open(my $log, ">>", "@WORK@/told") or die;
my $line = join(" ", $hook, @ARGV ? $ARGV[0] : "-", $found{Item} // "-", $name, $claim,
    map { "$_=" . ($found{$_} // "") } @{{
        reply => [], evict => [], update => [qw(JobState NumPids)], exit => [qw(ExitCode ExitSignal)],
        failure => [qw(HoldReasonCode VacateReasonCode)], vacate => [qw(JobState VacateTimeLeft)],
    }->{$hook}});
syswrite($log, "$line\\n");
"""

#: Changes the job before it runs, in Python.
PREPARE_PY: Final = """\
#!/usr/bin/env python3
import os, pathlib, sys
job, slot = sys.stdin.read().split("-----\\n")
if "Ask = " in job:
    code = job.split("Ask = ")[1].split("\\n")[0]
    print("HookStatusCode =", code)
    print('HookStatusMessage = "as asked"')
    sys.exit(0)
pathlib.Path("prepared").write_text(" ".join(sorted(os.environ)) + "\\n" + os.getcwd() + "\\n")
print('Prepared = "yes"')
print('Env = "PREPARED=yes"')
"""

_PROGRAMS: Final = {
    "fetch": FETCH_SH,
    "prepare": PREPARE_PY,
    **dict.fromkeys(("reply", "evict", "update", "exit", "failure", "vacate"), TOLD_PL),
}

_KNOBS: Final = {
    "fetch": "FETCH_WORK",
    "reply": "REPLY_FETCH",
    "evict": "EVICT_CLAIM",
    "prepare": "PREPARE_JOB",
    "update": "UPDATE_JOB_INFO",
    "exit": "JOB_EXIT",
    "failure": "STARTER_FAILURE",
    "vacate": "VACATE_JOB",
}


class Hooks:
    """A directory of hooks with the work that they hand out."""

    def __init__(self, place: Path, keyword: str = "DB") -> None:
        self.place = place
        self.keyword = keyword
        for path in (place, place / "todo", place / "taken"):
            path.mkdir(mode=0o755)
        for name, text in _PROGRAMS.items():
            self.write(name, text.replace("@WORK@", str(place)))

    def write(self, name: str, text: str, mode: int = 0o755) -> Path:
        """A program of that name."""
        path = self.place / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def config(self, *names: str) -> str:
        """The lines that name hooks; all that there are where none is named."""
        return "".join(f"{self.keyword}_HOOK_{_KNOBS[each]} = {self.place / each}\n" for each in names or _KNOBS)

    def offer(self, item: str, script: str = "true", **attributes: str) -> None:
        """A piece of work; attributes as expressions."""
        ad = {
            "Item": f'"{item}"',
            "Cmd": '"/bin/sh"',
            "Arguments": "\"-c '" + script.replace("'", "''").replace("\\", "\\\\").replace('"', '\\"') + "'\"",
            "Owner": f'"{getpass.getuser()}"',
            **attributes,
        }
        new = self.place / "new"
        new.write_text("".join(f"{name} = {value}\n" for name, value in ad.items() if value))
        new.rename(self.place / "todo" / item)

    def told(self, hook: str = "") -> list[str]:
        """What hooks were told, in order."""
        path = self.place / "told"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(hook)]
