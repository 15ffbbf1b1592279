# ruff: noqa: E501 - tables of commands
"""What a session does: a cell drawn at random, then events that are about the jobs that are there.

An event is one change that takes place at once (one submission, or several jobs released together), so that both
systems schedule from the same state.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from tests.gridengine.sessions.playing import Lines, Names

Drawn = tuple[str, str]

COMPLEXES: Final = (
    "lic lic INT <= YES YES 0 300",
    "disk disk INT <= YES YES 1 0",
    "once once INT <= YES JOB 0 0",
    "ver ver DOUBLE <= YES NO 0 0",
    "colour col STRING == YES NO NONE 0",
    "hot hot BOOL == FORCED NO 0 -50",
    "excl excl BOOL EXCL YES YES 0 0",
)
#: A shell function that changes lines "KEY ...".
EDITED: Final = """edited() { awk '
BEGIN { for (at = 1; at < ARGC; at++) { key = ARGV[at]; sub(/=.*/, "", key); value[key] = substr(ARGV[at], length(key) + 2) } ARGC = 1 }
$1 in value { print $1, value[$1]; next }
{ print }' "$@"; }"""
_RULES: Final = ("$pe_slots", "$fill_up", "$round_robin", "1", "2", "3")
_QUOTAS: Final = (
    "users {{*}} to slots={n}",
    "users alice to slots={n}",
    "users {{*}} hosts {{*}} to slots={n}",
    "hosts {{*}} to slots=$num_proc*2",
    "hosts @allhosts to slots={n}",
    "hosts {{node1,node2}} to slots={n}",
    "queues b.q to slots={n}",
    "queues {{*}} hosts !node2 to disk={n}",
    "users {{*}} to lic={n}",
    "users bob queues all.q to slots=0",
    "users !alice to slots={n}",
    "pes * to slots={n}",
    "pes !* to slots={n}",
    "projects physics to slots={n}",
    "users @staff to slots={n}",
    "users {{*}} pes {{spread,fill}} to slots={n}",
)
_OFFERS: Final = ("lic={n}", "disk={n}", "once={n}", "ver={n}.5", "colour=red", "colour=blue", "hot=TRUE", "excl=TRUE")
_WISHES: Final = ("lic={n}", "disk={n}", "once={n}", "ver={n}", "colour=red", "colour=r*", "hot=TRUE", "excl=TRUE",
                  "h=node{h}", "q=b.q", "h_rt=0:{n}0:0", "mem_free=1M", "slots=1", "h=node1|node2", "q=*.q@node{h}",
                  "arch=lx-amd64", "np_load_avg=0.15", "np_load_avg=1", "colour=!red", "h=!node1", "nosuch=1", "lic=x",
                  "hostname=@allhosts")  # fmt: skip
_QUEUE_PATTERNS: Final = ("all.q", "b.q", "c.q", "*.q", "all.q@node1", "*@node2", "all.q@@allhosts", "b.q@node3", "*")


class Dice(random.Random):
    """Draws that are needed often."""

    def __call__(self, chance: float) -> bool:
        return self.random() < chance

    def some(self, texts: tuple[str, ...], most: int) -> list[str]:
        """Some of these, with numbers."""
        return [
            each.format(n=self.randint(1, 4), h=self.randint(1, 3))
            for each in self.sample(texts, self.randint(0, most))
        ]


def cell(dice: Dice) -> str:
    """The configuration, as commands of root's."""
    lines = [
        EDITED,
        "addcomplex " + " ".join(f"'{each}'" for each in COMPLEXES),
        "qconf -au alice staff; qconf -au bob guests",
    ]
    lines.append(_file("name physics\noticket 0\nfshare 0\nacl NONE\nxacl NONE", "qconf -Aprj"))
    for name, rule in (
        ("fill", "$fill_up"),
        ("spread", "$round_robin"),
        ("one", "$pe_slots"),
        ("odd", dice.choice(_RULES)),
    ):
        slots = dice.choice(("999", "999", "3", "0"))
        users = dice.choice(("NONE", "NONE", "NONE", "staff"))
        lines.append(_file(
            f"pe_name {name}\nslots {slots}\nuser_lists {users}\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n"
            f"allocation_rule {rule}\ncontrol_slaves TRUE\njob_is_first_task {dice.choice(('TRUE', 'FALSE'))}\n"
            f"urgency_slots {dice.choice(('min', 'max', 'avg', '2'))}\naccounting_summary TRUE\nqsort_args NONE",
            "qconf -Ap"))  # fmt: skip
    lines.append(_file("calendar_name shut\nyear NONE\nweek mon-sun=0-24=off", "qconf -Acal"))
    lines.append(_file("calendar_name open\nyear NONE\nweek NONE", "qconf -Acal"))
    # Of a queue that exists the initial state no longer counts.
    values = " ".join(f"'{key}={value}'" for key, value in _queue(dice).items() if key != "initial_state")
    lines.append(f"SGE_SINGLE_LINE=1 qconf -sq all.q | edited {values} > /tmp/q; qconf -Mq /tmp/q")
    for name in ("b.q", "c.q")[: dice.choice((0, 1, 1, 2))]:
        values = " ".join(f"'{key}={value}'" for key, value in _queue(dice, ("all.q",)).items())
        lines.append(f"mkq {name} {values}")
    lines.append("for host in node1 node2 node3; do qconf -mattr exechost complex_values slots=6 $host; done")
    offers = {host: _offers(dice, dice.choice((0, 1, 3))) for host in ("global", "node1", "node2", "node3")}
    lines += [f"qconf -mattr exechost complex_values {','.join(each)} {host}" for host, each in offers.items() if each]
    if dice(0.15):
        lines.append(
            f"qconf -aattr exechost {dice.choice(('user_lists', 'xuser_lists'))} staff node{dice.randint(1, 3)}"
        )
    for number, rules in enumerate(dice.some(("a", "b"), 2)):
        limits = "\n".join(f"limit {f'name r{at} ' if dice(0.3) else ''}{each}" for at, each in
                           enumerate(dice.some(_QUOTAS, 3) or ["to slots=9"]))  # fmt: skip
        lines.append(_file(f"{{\nname quota{number}{rules}\ndescription NONE\nenabled {'TRUE' if dice(0.9) else 'FALSE'}\n{limits}\n}}",
                           "qconf -Arqs"))  # fmt: skip
    scheduler = {
        "queue_sort_method": dice.choice(("load", "load", "seqno")),
        "load_formula": dice.choice(
            # Each breaks ties: which of equally loaded hosts gets a job is left to chance.
            ("np_load_avg", "np_load_avg", "-np_load_avg", "np_load_avg+slots", "np_load_avg*2-slots")
        ),
        "maxujobs": dice.choice(("0", "0", "0", "2")),
        "max_reservation": dice.choice(("0", "5")),
        "default_duration": dice.choice(("INFINITY", "1:0:0")),
        "weight_waiting_time": "0",
        "weight_priority": dice.choice(("0", "1")),
        "weight_urgency": dice.choice(("0", "0.5")),
        "max_aj_instances": "2000",
    }
    scheduler.pop("max_aj_instances")
    lines.append("setsched " + " ".join(f"{key}={value}" for key, value in scheduler.items()))
    return "\n".join(lines)


def _file(text: str, command: str) -> str:
    return f"cat > /tmp/object <<'EOT'\n{text}\nEOT\n{command} /tmp/object"


def _queue(dice: Dice, below: tuple[str, ...] = ()) -> dict[str, str]:
    values = {
        "slots": dice.choice(("1", "2", "2", "4", "2,[node1=1]", "3,[node2=0]", "0,[@allhosts=2]")),
        "seq_no": dice.choice(("0", "0", "5", "0,[node1=9],[node3=1]")),
        "load_thresholds": dice.choice(
            ("np_load_avg=1.75",) * 4 + ("np_load_avg=0.25", "NONE", "np_load_avg=0.15,[node2=NONE]")
        ),
        "hostlist": dice.choice(("@allhosts",) * 3 + ("node1 node3", "node2")),
        "qtype": dice.choice(("BATCH INTERACTIVE",) * 5 + ("INTERACTIVE", "BATCH")),
        "pe_list": dice.choice(("fill spread one odd make",) * 3 + ("one", "NONE", "fill,[node1=spread odd]")),
        "user_lists": dice.choice(("NONE",) * 8 + ("staff", "guests")),
        "xuser_lists": dice.choice(("NONE",) * 8 + ("guests",)),
        "projects": dice.choice(("NONE",) * 10 + ("physics",)),
        "calendar": dice.choice(("NONE",) * 8 + ("shut", "open", "NONE,[node1=shut]")),
        "initial_state": dice.choice(("default",) * 8 + ("disabled",)),
        "h_rt": dice.choice(("INFINITY",) * 4 + ("0:20:0", "1:0:0")),
        "complex_values": ",".join(_offers(dice, dice.choice((0, 0, 1, 2)))) or "NONE",
    }
    for queue in below:
        values["subordinate_list"] = dice.choice(("NONE",) * 4 + (queue, f"{queue}=1", f"slots=2({queue}:1:sr)"))
    return {key: value for key, value in values.items() if value}


def _offers(dice: Dice, most: int) -> list[str]:
    offers = dice.some(_OFFERS, most)
    return list({each.partition("=")[0]: each for each in offers}.values())


def options(dice: Dice) -> str:
    """Options of a submission."""
    words = []
    if wishes := dice.some(_WISHES, dice.choice((0, 1, 1, 2))):
        words.append(f"-l '{','.join(wishes)}'")
    if dice(0.1):
        words.append(f"-soft -l '{','.join(dice.some(_WISHES, 2)) or 'lic=1'}' -hard")
    if dice(0.15):
        words.append(f"-q '{dice.choice(_QUEUE_PATTERNS)}'")
    if dice(0.05):
        words.append(f"-soft -q '{dice.choice(_QUEUE_PATTERNS)}' -hard")
    if dice(0.25):
        words.append(f"-pe '{dice.choice(('fill', 'spread', 'one', 'odd', 'make', 'f*', 'nosuch'))}' "
                     f"{dice.choice(('1', '2', '2', '3', '4', '2-4', '3-', '-3', '6', '1-3:2'))}")  # fmt: skip
        if dice(0.15):
            words.append(f"-masterq '{dice.choice(_QUEUE_PATTERNS)}'")
    elif dice(0.2):
        words.append(f"-t {dice.choice(('1-3', '2-6:2', '4', '1-12'))}")
        if dice(0.3):
            words.append(f"-tc {dice.randint(1, 2)}")
    if dice(0.15):
        words.append(f"-p {dice.choice(('-10', '-100', '-1023', '5', '0'))}")
    if dice(0.1):
        words.append("-P physics")
    if dice(0.1):
        words.append("-R y")
    if dice(0.05):
        words.append("-h")
    if dice(0.05):
        words.append(f"-w {dice.choice('evwnp')}")
    if dice(0.05):
        words.append("-a 203001010000")
    if dice(0.05):
        words.append("-r y")
    return " ".join(words)


class Play:
    """Draws events from what is seen."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.view: dict[str, Lines] = {}
        self.names = Names()

    def __call__(self, number: int) -> Callable[[dict[str, Lines], Names], Iterator[Drawn]]:
        """A session of so many events."""

        def events(view: dict[str, Lines], names: Names) -> Iterator[Drawn]:
            self.view, self.names = view, names
            yield "root", cell(self.dice)
            for _ in range(number):
                yield self._event()

        return events

    def _event(self) -> Drawn:
        dice, jobs = self.dice, len(self.names.numbers)
        kinds: list[tuple[int, Callable[[], Drawn]]] = [(5, self._submit), (1, self._several)]
        if jobs:
            kinds += [(1, self._delete), (2, self._alter), (1, self._hold), (1, self._release), (1, self._depend)]
            kinds += [(1, self._queues), (1, self._cell), (1, self._look)]
            if self._running():
                kinds.append((4, self._end))
        return dice.choices([each for _, each in kinds], [weight for weight, _ in kinds])[0]()

    def _user(self) -> str:
        return self.dice.choice(("alice", "alice", "bob"))

    def _job(self) -> str:
        return f"{{J{self.dice.randint(1, len(self.names.numbers))}}}"

    def _submit(self) -> Drawn:
        return self._user(), f"qsub -o /dev/null -j y {options(self.dice)} job.sh"

    def _depend(self) -> Drawn:
        first = self._job()
        held = self.dice.choice(
            (f"-hold_jid {first}", f"-hold_jid {first} -t 1-2", f"-hold_jid_ad {first} -t 1-3", "-hold_jid job.sh")
        )
        return self._user(), f"qsub -o /dev/null -j y {held} job.sh"

    def _several(self) -> Drawn:
        made = "; ".join(f"qsub -terse -h -o /dev/null -j y {options(self.dice)} job.sh 2>&1 | sed 's/^\\([0-9][0-9]*\\).*/Your job \\1/'"
                         for _ in range(self.dice.randint(2, 5)))  # fmt: skip
        return self._user(), f"({made}) > /tmp/made; cat /tmp/made; qrls $(sed -n 's/^Your job //p' /tmp/made)"

    def _running(self) -> list[tuple[str, str]]:
        """Jobs that run, with their tasks."""
        found = []
        for line in self.view.get("qstat -f -r -u *", []):
            words = line.split()
            if len(words) >= 7 and words[0][0] == "J" and words[4] in ("r", "Rr"):
                task = words[7] if len(words) > 7 and words[7].isdigit() else "undefined"
                found.append((words[0], task))
        return sorted(set(found))

    def _end(self) -> Drawn:
        job, task = self.dice.choice(self._running())
        # Not 99: there the host takes the job again only after it has cleaned up.
        status = self.dice.choice(("0", "0", "0", "3", "100"))
        return "root", (
            f"end=/tmp/ends/{{{job}}}.{task}; echo {status} > $end; for at in $(seq 50); do [ -e $end ] || break; sleep 0.2; done;"
            f" for at in $(seq 50); do qstat -s r -u '*' | grep -E '^ +{{{job}}} .* R?r .* 1 *{'' if task == 'undefined' else task}$'"
            " > /dev/null || break; sleep 0.2; done"
        )

    def _delete(self) -> Drawn:
        job = self._job()
        extra = self.dice.choice(("", "", " -t 2", " -t 1-2", ".3"))
        if extra.startswith("."):
            extra, job = "", job + extra
        return self.dice.choice(("alice", "bob", "root")), f"qdel {job}{extra}"

    def _alter(self) -> Drawn:
        dice = self.dice
        change = dice.choice((options(dice), options(dice), "-l ''", "-p -5", "-p 5", "-q NONE", "-tc 1", "-tc 0", "-hold_jid ''", "-R n",
                              "-N other", "-h u", "-h U", "-pe fill 2", "-t 1-2", "-r n", f"-hold_jid {self._job()}", "-clear"))  # fmt: skip
        return dice.choice(("alice", "alice", "bob", "root")), f"qalter {change} {self._job()}"

    def _waiting(self) -> list[str]:
        found = set()
        for line in self.view.get("qstat -f -r -u *", []):
            words = line.split()
            if len(words) >= 6 and words[0][0] == "J" and words[4] in ("qw", "hqw"):
                found.add(f"{{{words[0]}}}")
        return sorted(found)

    def _hold(self) -> Drawn:
        if not (waiting := self._waiting()):
            return self._submit()
        return self.dice.choice(
            ("alice", "bob", "root")
        ), f"qhold {self.dice.choice(('', '-h u ', '-h o ', '-h s '))}{self.dice.choice(waiting)}"

    def _release(self) -> Drawn:
        return self.dice.choice(
            ("alice", "bob", "root")
        ), f"qrls {self.dice.choice(('', '', '-h u ', '-h o ', '-h s ', '-h uos '))}{self._job()}"

    def _queues(self) -> Drawn:
        what = self.dice.choice(("-d", "-e", "-e", "-s", "-us", "-us", "-cq"))
        return self.dice.choice(("root", "root", "alice")), f"qmod {what} '{self.dice.choice(_QUEUE_PATTERNS[:-1])}'"

    def _look(self) -> Drawn:
        dice = self.dice
        return self._user(), dice.choice((
            f"qselect -q '{dice.choice(_QUEUE_PATTERNS)}'", f"qselect -l '{','.join(dice.some(_WISHES, 2)) or 'lic=1'}'",
            "qselect -s r", "qselect -qs d", "qselect -pe fill", "qselect -U alice", "qstat", "qstat -s p", "qstat -s h -u '*'",
            "qstat -s z -u '*'", "qstat -u bob", f"qstat -q '{dice.choice(_QUEUE_PATTERNS)}' -u '*'", "qstat -g t -u '*'", "qstat -g d -u '*'",
            f"qstat -f -l '{','.join(dice.some(_WISHES, 1)) or 'lic=1'}' -ne", "qstat -pri -u '*'", "qstat -urg -u '*'", "qhost -j", "qstat -pe fill -u '*' -f",
            "qquota", "qquota -u alice -l slots", "qquota -h node1 -u '*'", "qquota -q b.q -u '*'", "qstat -j 99999", "qstat -f -explain acE",
            "qstat -r -u '*'", "qstat -qs d -f", "qstat -F lic,excl", "qhost -h node1 -F lic", "qstat -xml -u nobody",
        ))  # fmt: skip

    def _cell(self) -> Drawn:
        dice = self.dice
        n = dice.randint(0, 4)
        return "root", dice.choice((
            f"qconf -mattr queue slots {n} all.q", f"qconf -mattr queue seq_no {n} all.q@node{dice.randint(1, 3)}",
            f"qconf -rattr queue slots {n} all.q@node{dice.randint(1, 3)}", "qconf -purge queue slots all.q@node1",
            f"qconf -aattr exechost complex_values lic={n} node{dice.randint(1, 3)}", f"qconf -aattr exechost complex_values once={n} global",
            f"qconf -mattr exechost complex_values disk={n} node{dice.randint(1, 3)}", "qconf -dattr hostgroup hostlist node3 @allhosts",
            "qconf -aattr hostgroup hostlist node3 @allhosts", f"qconf -mattr pe slots {n} fill", "qconf -mattr pe allocation_rule 1 odd",
            f"qconf -mattr resource_quota limit slots={n} quota0a/1", "qconf -mattr resource_quota enabled FALSE quota0a",
            "qconf -au bob staff", "qconf -du alice staff", "setsched queue_sort_method=seqno", "setsched load_formula=-np_load_avg",
            "qconf -dattr queue pe_list fill all.q", "qconf -aattr queue user_lists staff all.q", "qconf -mattr queue calendar shut all.q@node2",
            "qconf -mattr queue calendar NONE all.q", "qconf -dq b.q", "qconf -aattr queue subordinate_list all.q=1 b.q",
        ))  # fmt: skip
