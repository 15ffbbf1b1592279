"""Questions to Grid Engine about single values: an object with one attribute changed, and what `qconf` made of it.

`python -m tests.gridengine.questions CELL` asks a running cell, through the program CELL that starts commands in it
(``CELL run sgehub root -- COMMAND``), and writes the answers to data/answers.json. The tests compare them with what
Roost's reader and printer make of the same texts.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
ANSWERS = DATA / "answers.json"


class Question(NamedTuple):
    """In an object of a kind, `attribute` gets `value`; without an attribute, `value` is the whole text."""

    kind: str
    attribute: str
    value: str

    @property
    def text(self) -> str:
        """The file that is handed to `qconf`."""
        if not self.attribute:
            return self.value
        lines = BASES[self.kind].splitlines()
        return "".join(
            f"{self.attribute} {self.value}\n" if line.split()[0] == self.attribute else f"{line}\n" for line in lines
        )

    def relevant(self, shown: str) -> str:
        """The lines of an object that the question is about."""
        if self.kind == "complex":
            return "".join(
                line for line in shown.splitlines(True) if line.split()[0] in ("#name", self.value.split()[0])
            )
        if not self.attribute:
            return shown
        return "".join(line for line in shown.splitlines(True) if line.split()[:1] == [self.attribute])


def _queue() -> str:
    text = (DATA / "plain/cqueues/all.q").read_text()
    return text.replace("all.q", "t.q")


BASES = {
    "queue": _queue(),
    "pe": (DATA / "plain/pe/make").read_text().replace("make", "tp"),
    "host": "hostname node1\nload_scaling NONE\ncomplex_values NONE\nuser_lists NONE\nxuser_lists NONE\n"
    "projects NONE\nxprojects NONE\nusage_scaling NONE\nreport_variables NONE\n",
    "calendar": "calendar_name c\nyear NONE\nweek NONE\n",
    "ckpt": "ckpt_name c\ninterface userdefined\nckpt_command none\nmigr_command none\nrestart_command none\n"
    "clean_command none\nckpt_dir /tmp\nsignal none\nwhen sx\n",
    "userset": "name u1\ntype ACL\nfshare 0\noticket 0\nentries NONE\n",
    "project": "name p1\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n",
    "user": "name x1\noticket 0\nfshare 0\ndelete_time 0\ndefault_project NONE\n",
    "hostgroup": "group_name @h1\nhostlist NONE\n",
    "scheduler": (DATA / "plain/schedconf").read_text(),
    "configuration": "mailer /bin/true\nprolog none\n",
    "quota": "",
    "complex": "",
    "tree": "",
}
#: the commands that add or change, show and remove; the file is t, and {name} the object's name
_COMMANDS = {
    "queue": ("qconf -Aq t", "qconf -sq t.q", "qconf -dq t.q"),
    "pe": ("qconf -Ap t", "qconf -sp tp", "qconf -dp tp"),
    "host": ("qconf -Me t", "qconf -se node1", "qconf -Me base.host"),
    "calendar": ("qconf -Acal t", "qconf -scal c", "qconf -dcal c"),
    "ckpt": ("qconf -Ackpt t", "qconf -sckpt c", "qconf -dckpt c"),
    "userset": ("qconf -Au t", "qconf -su u1", "qconf -dul u1"),
    "project": ("qconf -Aprj t", "qconf -sprj p1", "qconf -dprj p1"),
    "user": ("qconf -Auser t", "qconf -suser x1", "qconf -duser x1"),
    "hostgroup": ("qconf -Ahgrp t", "qconf -shgrp @h1", "qconf -dhgrp @h1"),
    "scheduler": ("qconf -Msconf t", "qconf -ssconf", "qconf -Msconf base.scheduler"),
    "configuration": ("cp t m/node1; qconf -Mconf m/node1", "qconf -sconf node1", "cp base.configuration m/node1;"
                      " qconf -Mconf m/node1"),
    "quota": ("qconf -Arqs t", "qconf -srqs r1", "qconf -drqs r1"),
    "complex": ("cat base.table t > t2; qconf -Mc t2", "qconf -sc", "qconf -Mc base.table"),
    "tree": ("qconf -Astree t", "qconf -sstree", "qconf -dstree"),
}  # fmt: skip
#: where something was added or changed, `qconf` says so
_DONE = (' added "', " modified ", "changed s", "changed scheduler")


def _each(kind: str, attribute: str, *values: str) -> list[Question]:
    return [Question(kind, attribute, value) for value in values]


def _limits(*limits: str) -> list[Question]:
    form = "{{\n   name r1\n   description NONE\n   enabled TRUE\n   limit {}\n}}\n"
    return [Question("quota", "", form.format(limit)) for limit in limits]


def _nodes(*nodes: tuple[int, str, int, str, str]) -> Question:
    form = "id={}\nname={}\ntype={}\nshares={}\nchildnodes={}\n"
    return Question("tree", "", "".join(form.format(*node) for node in nodes))


QUESTIONS: list[Question] = [
    *_each("queue", "slots", "4,[node3=1],[@g2=8],[node1=2],[@g1=3]", "4,[node3=1],[node3=2]", "[node3=1]", "4,5", "x"),
    *_each("queue", "slots", "-1", "10000000", "9999999", "0x10", "1.5", "4,[@nosuch=1]", "4,[node3=]", "4 [node3=1]"),
    *_each("queue", "slots", "4, [node3=1], [node1=2]", "4,[NODE3=1]", "NONE", "INFINITY", "4k", "1e2", "010", "+4"),
    *_each("queue", "slots", "4#x", "4,[node3=1]]", "4,[node3]", "4,[node3=1", "4,[=1]", "4,[node3=1],5", "4,"),
    *_each("queue", "slots", "4,[node3=1],", "4,[@g1=8],[@g2=8]", "4 # x"),
    *_each("queue", "seq_no", "abc", "-1", "4294967296", "4294967295", "7"),
    *_each("queue", "priority", "21", "-21", "-20", "20", "020", "x", "1.5", "+5"),
    *_each("queue", "h_rt", "1:2", "abc", "infinity", "1:00:00:00", "-1", "NONE", "1.5", ":30:", "::", ":30", "5K"),
    *_each("queue", "h_rt", "0x10", "1e3", "1:60:70", "1:x:3", "+5", "INFINITY,[node1=Infinity]", "inf"),
    *_each("queue", "h_rt", "1:00:00,[node1=x]", "1::1"),
    *_each("queue", "h_vmem", "1.5G", "5x", "NONE", "5t", "-1", "0x10k", "1e3k", "1:0:0", "010G", "5 G", "5g"),
    *_each("queue", "rerun", "true", "1", "yes", "no", "foo", "0", "2", "y", "n", "T", "f"),
    *_each("queue", "qtype", "INTERACTIVE BATCH", "BATCH,INTERACTIVE", "batch", "NONE", "NONE,[node1=BATCH]"),
    *_each("queue", "qtype", "NONE,[node1=INTERACTIVE,BATCH]"),
    *_each("queue", "shell_start_mode", "foo", "UNIX_BEHAVIOR", "NONE", "script_from_stdin"),
    *_each("queue", "initial_state", "foo", "enabled", "disabled"),
    *_each("queue", "tmpdir", "none", "tmp", "/a/b,c"),
    *_each("queue", "shell", "bash", "none", "/bin/x y"),
    *_each("queue", "prolog", "foo bar", "root@/x y,[node1=/bin/a b c]", "/x $host $foo", "NONE,[node1=NONE]", "none"),
    *_each("queue", "prolog", '"/bin/x y",[node1=b]', "/bin/x,/bin/y", "/bin/x # c", "/bin/x#c"),
    *_each("queue", "suspend_method", "SIGFOO", "sigstop", "17", "/x $job_pid $foo", "root@/x", "foo"),
    *_each("queue", "pe_list", "make nosuch", "make,make", "make,[@g1=NONE],[node3=make make]", "NONE make"),
    *_each("queue", "ckpt_list", "nosuch"),
    *_each("queue", "user_lists", "nosuch", "arusers deadlineusers", "arusers,deadlineusers", "none"),
    *_each("queue", "projects", "nosuch"),
    *_each("queue", "calendar", "nosuch", "a b", "none", "none,[node1=NONE]"),
    *_each("queue", "subordinate_list", "t.q", "all.q", "all.q=1", "all.q=1 nosuch.q=2", "all.q=0", "all.q=x"),
    *_each("queue", "subordinate_list", "all.q=1,all.q=2", "slots=2(all.q)", "slots=2(all.q:1)", "slots=2(all.q:1:lr)"),
    *_each("queue", "subordinate_list", "slots=2(all.q:1:xx)", "all.q=1,[node1=slots=2(all.q:1:lr)]", "slots=0(all.q)"),
    *_each("queue", "subordinate_list", "slots=2(all.q:1:lr,all.q)", "slots=2(all.q:1:lr) all.q", "slots=2"),
    *_each("queue", "subordinate_list", "slots=2()", "NONE,[node1=all.q=1 all.q=2]", "NONE,[node1=all.q=1, all.q=2]"),
    *_each(
        "queue", "complex_values", "slots=4", "nosuch=4", "arch=lx arch=b", "arch=lx,h=x", "mem_free", "mem_free=abc"
    ),
    *_each("queue", "complex_values", "mem_free=1G mem_total=2G", "mf=1G", "NONE,[@g1=arch=x,h=y],[node3=mf=1G mt=3G]"),
    *_each("queue", "load_thresholds", "np_load_avg", "np_load_avg=abc", "nosuch=1", "nla=1.5", "np_load_avg=0x1"),
    *_each("queue", "load_thresholds", "np_load_avg=1.5 mem_free=1G", "NONE", "none", "np_load_avg=1,np_load_avg=2"),
    *_each("queue", "load_thresholds", "np_load_avg==1", "np_load_avg=1,,mem_free=2", "np_load_avg="),
    *_each("queue", "load_thresholds", "np_load_avg=1,[node1=NONE]", "np_load_avg=1,[node1=np_load_avg=2 mem_free=1]"),
    *_each("queue", "nsuspend", "-1", "x"),
    *_each("queue", "suspend_interval", "x", "INFINITY"),
    *_each("queue", "notify", "60", "INFINITY"),
    *_each("queue", "owner_list", "alice,bob", "alice bob nosuch", "@x", "a,a"),
    *_each("queue", "hostlist", "nosuchhost", "@nosuch", "node1 node1", "node1,node2", "@g1 node1 @g2", "NONE", "none"),
    *_each("queue", "hostlist", "NODE1", "node1 NONE", "node1 node2,@g1"),
    *_each("queue", "qname", "a b", "@q", "template", "a/b", "none", "all"),
    *_each("pe", "slots", "x", "-1", "10000000", "9999999", "0x10"),
    *_each("pe", "user_lists", "nosuch", "arusers,deadlineusers", "arusers deadlineusers"),
    *_each("pe", "allocation_rule", "foo", "0", "-1", "$foo", "1.5", "$PE_SLOTS", "$fill_up", "4"),
    *_each("pe", "control_slaves", "x", "true"),
    *_each("pe", "urgency_slots", "x", "MIN", "5", "0", "-1"),
    *_each("pe", "start_proc_args", "foo $bar", "/x $pe_slots", "none"),
    *_each("pe", "pe_name", "a b", "@x", "none", "a,b", "a[b", "a{b", "a|b", "a(b", "a%b", "a'b", 'a"b', "a:b", "a/b"),
    *_each("host", "load_scaling", "np_load_avg=0.5", "nosuch=0.5", "np_load_avg=-1", "nla=2", "np_load_avg"),
    *_each("host", "load_scaling", "np_load_avg=2 mem_free=3"),
    *_each("host", "complex_values", "slots=x", "slots=-1", "slots=1.5", "nosuch=1", "load_avg=1", "slots=1,s=2"),
    *_each("host", "complex_values", "slots=infinity", "mem_free=2G slots=3", "arch=", "arch=NONE", "arch=a*b"),
    *_each("host", "complex_values", "h_rt=1:0:0", "h_rt=x", "h_vmem=infinity", "h_vmem=0x10", "display_win_gui=x"),
    *_each("host", "complex_values", "display_win_gui=TRUE", "hostname=NODE9", "hostname=NODE2", "cpu=1e3", "cpu=x"),
    *_each("host", "complex_values", "slots=010", "slots=1K", "h_vmem=x", "mem_free=-1"),
    *_each("host", "usage_scaling", "cpu=2", "foo=2", "cpu=2,mem=3.5"),
    *_each("host", "report_variables", "np_load_avg", "np_load_avg,cpu", "nosuch"),
    *_each("host", "user_lists", "nosuch", "arusers deadlineusers"),
    *_each("host", "projects", "nosuch"),
    *_each("calendar", "week", "mon", "mon=x", "foo", "mon-fri=8-18=off sat", "MON", "monday", "8-18", "=off", "off"),
    *_each("calendar", "week", "=8-18", "mon=25-26", "mon=8:60-9", "mon=8-8", "mon=0-24", "mon=24-0", "mon=8-12,13-17"),
    *_each("calendar", "week", "mon=8-12 , tue=off", "mon mon", "mon=on tue=ON", "mon=suspend", "mon=6-20=off=on"),
    *_each(
        "calendar", "week", "mon,tue-thu,sat=6:30-7:15:20=suspended", "fri-mon=22-6", "m", "mo", "mon=8", "mon=8-9:70"
    ),
    *_each("calendar", "year", "1.1.2026", "32.1.2026", "1.13.2026", "31.2.2026", "1.jan.2026", "1.1.26", "1.1.2040"),
    *_each("calendar", "year", "1.January.2026=8-18=suspended", "2.1.2026-1.1.2026", "1.1.2026 2.1.2026,3.1.2026"),
    *_each("calendar", "year", "1.1.2026-1.1.2026", "1.foo.2026", "1.1", "1.1.2026=on", "mon"),
    *_each("ckpt", "interface", "foo", "transparent", "hibernator", "cpr", "application-level"),
    *_each("ckpt", "when", "x", "smx", "sr", "xms", "foo", "none", "srx", "mr", "r"),
    *_each("ckpt", "signal", "usr1", "SIGUSR1", "10", "foo"),
    *_each("ckpt", "ckpt_dir", "none", "tmp"),
    *_each("userset", "type", "DEPT", "DEPT ACL", "ACL,DEPT", "acl", "foo", "NONE"),
    *_each("userset", "entries", "a b", "a,b", "a,a", "@x", "none"),
    *_each("userset", "fshare", "x", "-1", "7"),
    *_each("userset", "name", "a b", "@x"),
    *_each("project", "acl", "nosuch", "arusers,deadlineusers", "arusers deadlineusers"),
    *_each("project", "fshare", "x"),
    *_each("project", "name", "default", "none", "@x"),
    *_each("user", "default_project", "nosuch", "none"),
    *_each("user", "delete_time", "x"),
    *_each("user", "name", "template", "@a"),
    *_each("hostgroup", "hostlist", "NONE", "node1 node1", "nosuch", "@nosuch", "@h1", "node1,node2", "@g1 node3"),
    *_each("hostgroup", "group_name", "h1", "@a b"),
    *_each("scheduler", "algorithm", "foo"),
    *_each("scheduler", "schedule_interval", "x", "0", "INFINITY", "0:0:15"),
    *_each("scheduler", "maxujobs", "x", "-1", "3"),
    *_each("scheduler", "queue_sort_method", "foo", "share", "SEQNO"),
    *_each(
        "scheduler", "job_load_adjustments", "nosuch=1", "np_load_avg=x", "np_load_avg", "np_load_avg=1,mem_free=2G"
    ),
    *_each("scheduler", "load_adjustment_decay_time", "x", "5"),
    *_each(
        "scheduler", "load_formula", "nosuch", "np_load_avg + slots", "2*np_load_avg", "none", "np_load_avg/2", "arch"
    ),
    *_each("scheduler", "load_formula", "5", "np_load_avg*2-slots", "$np_load_avg"),
    *_each("scheduler", "schedd_job_info", "foo", "job_list 1-5", "false"),
    *_each("scheduler", "params", "foo=1", "PROFILE=1 MONITOR=1", "DURATION_OFFSET=5", "PE_RANGE_ALG=bin"),
    *_each("scheduler", "halftime", "x", "-1", "1.5"),
    *_each("scheduler", "usage_weight_list", "cpu=1", "cpu=1,foo=2", "NONE"),
    *_each("scheduler", "compensation_factor", "x", "2", "-1"),
    *_each("scheduler", "weight_ticket", "x", "1e3", "0.1234567"),
    *_each("scheduler", "share_override_tickets", "1", "x"),
    *_each("scheduler", "max_pending_tasks_per_job", "0"),
    *_each("scheduler", "halflife_decay_list", "foo", "cpu=1", "cpu=1:mem=-1"),
    *_each("scheduler", "policy_hierarchy", "X", "O", "NONE", "OO", "SOFO"),
    *_each("scheduler", "default_duration", "x", "0", "infinity", "1:0:0", "NONE"),
    *_each("configuration", "mailer", "x", "/x", "none"),
    *_each("configuration", "prolog", "x", "/x $foo", "root@/x $host", "NONE"),
    *_limits("to slots=1", "users * to slots=1", "users {*} to slots=1 ", "users {a,b} hosts @x to slots=1"),
    *_limits("user a to slots=1", "users a to nosuch=1", "users a to slots=x", "users a to slots", "users a", "to s=1"),
    *_limits("users a users b to slots=1", "name a name b to slots=1", "name 1 to slots=1", "users a,{b} to slots=1"),
    *_limits(
        "users a b to slots=1", "to slots=$num_proc", "hosts {*} to slots=$num_proc", "hosts * to slots=$num_proc"
    ),
    *_limits("hosts {node1,node2} to slots=$num_proc*2+1", "hosts {*} to slots=$nosuch", "to slots=1,slots=2"),
    *_limits("to slots=1 arch=x", "to slots=1,arch=x", "to load_avg=1", "to slots=-1", "to slots=1.5", "to h_rt=1:0:0"),
    *_limits("to mem_free=2G,slots=infinity", "pes * projects * users * hosts * queues * to slots=1"),
    *_limits("users !a,b to slots=1", "users {!a} to slots=1", "users * ,a to slots=1", "users , to slots=1"),
    *_limits("TO slots=1", "USERS a to slots=1", "to slots = 1", "users a, b to slots=1", "users {a, b} to slots=1"),
    *_limits("users {a ,b} to slots=1", "to slots=1, mem_free=2G", "users {a to slots=1", "hosts NODE1 to slots=1"),
    *_limits("users a,a to slots=1", "hosts node1 to slots=$num_proc", "name x to slots=1"),
    Question("quota", "", "{\nname r1\nlimit to slots=1\n}\n"),
    Question("quota", "", "{\nname r1\nenabled foo\nlimit to slots=1\n}\n"),
    Question(
        "quota", "", "{\nname r1\ndescription foo bar\nenabled true\nlimit to slots=1\nlimit name x to slots=2\n}\n"
    ),
    Question("quota", "", "{\nname r1\nenabled TRUE\n}\n"),
    Question("quota", "", "name r1\nenabled TRUE\nlimit to slots=1\n"),
    Question("quota", "", "{\nname r1\nfoo TRUE\nlimit to slots=1\n}\n"),
    Question("quota", "", "{\nenabled TRUE\nlimit to slots=1\n}\n"),
    Question("quota", "", "# c\n{\nname r1\n# d\nenabled TRUE\nlimit users a,\\\nb to slots=1\n}\n"),
    Question("quota", "", '{\nname r1\ndescription "a b"\nenabled 1\nlimit to slots=1\n}\n'),
    *(
        Question("complex", "", f"{line}\n")
        for line in (
            *("x x INT <= YES YES 0 0", "x x FOO <= YES YES 0 0", "x x INT < YES YES 0 0", "x x INT << YES YES 0 0"),
            *(
                "x x INT <= MAYBE YES 0 0",
                "x x INT <= YES MAYBE 0 0",
                "x x INT <= YES NO 5 0",
                "x x INT <= YES YES x 0",
            ),
            *("x x INT <= YES YES 0 x", "x x STRING <= YES NO NONE 0", "x x STRING == YES YES NONE 0"),
            *("x x STRING == YES NO foo 0", "x x INT == YES YES 0 0", "x x BOOL == YES YES 0 0"),
            *(
                "x x BOOL EXCL YES NO 0 0",
                "x x INT EXCL YES YES 0 0",
                "x x BOOL <= YES NO 0 0",
                "x s INT <= YES NO 0 0",
            ),
            *("x x INT <= YES YES 0", "x x INT <= YES YES 0 0 0", "x x INT <= FORCED YES 1 0"),
            *("x x INT <= forced yes 0 0", "x x int <= y n 0 0", "x x INT <= 1 1 0 0", "x x INT <= NO YES 0 0"),
            *("x x INT <= NO YES 1 0", "x-y x INT <= YES YES 0 0", "x x INT <= YES YES NONE 0"),
            *("x x STRING == YES NO 0 0", "x x MEMORY <= YES YES 1.5G 0", "x x TIME <= YES YES infinity 0"),
            *("x x BOOL == YES NO true 0", "x x BOOL EXCL YES YES true 0", "x x DOUBLE <= YES YES -1 0"),
            *("x x INT <= YES JOB 0 0", "x x RESTRING != YES NO NONE 0", "x x INT <= YES YES 0 1e3"),
            *("X X INT <= YES YES 0 0", "a_b ab INT <= YES YES 0 -2.5", "x x INT >= YES YES 0 0"),
        )
    ),
    _nodes((0, "Root", 0, "1", "1"), (1, "alice", 0, "x", "NONE")),
    _nodes((0, "Root", 0, "1", "1"), (1, "P1", 0, "2", "2"), (2, "default", 0, "2", "NONE")),
    _nodes((7, "Root", 0, "1", "9,3"), (3, "b", 0, "1", "NONE"), (9, "a", 0, "2", "4"), (4, "default", 0, "1", "NONE")),
    _nodes((0, "Root", 0, "1", "1"), (1, "nosuch", 0, "3", "NONE")),
    _nodes((0, "Root", 0, "1", "1,2"), (1, "default", 0, "3", "NONE"), (2, "default", 0, "3", "NONE")),
    _nodes((0, "Root", 0, "1", "1")),
    _nodes((7, "Foo", 0, "-1", "NONE")),
    Question("tree", "", "foo=1\n"),
    Question("tree", "", "id=0\nname=Foo\n"),
]
_SETUP = """
mkdir -p /tmp/q/m; cd /tmp/q; export SGE_SINGLE_LINE=1
printf 'group_name @g1\\nhostlist node1 node2\\n' > t; qconf -Ahgrp t
printf 'group_name @g2\\nhostlist node2 node3\\n' > t; qconf -Ahgrp t
qconf -sc > base.table
"""


def script() -> str:
    """The shell script that asks all questions."""
    parts = [_SETUP]
    parts += [f"printf %s {shlex.quote(text)} > base.{kind}" for kind, text in BASES.items() if text]
    for number, question in enumerate(QUESTIONS):
        change, show, restore = _COMMANDS[question.kind]
        parts.append(f"echo '##Q {number}'; printf %s {shlex.quote(question.text)} > t; ({change}) 2>&1")
        parts.append(f"echo '##A'; {show} 2>&1; ({restore}) >/dev/null 2>&1")
    return "\n".join([*parts, "exit 0"]) + "\n"


def answers(cell: str) -> list[dict[str, object]]:
    """Ask a running cell everything."""
    # The script is too long for an argument, so it comes in on standard input.
    done = subprocess.run(
        [cell, "run", "sgehub", "root", "--", "bash -s"], input=script(), text=True, capture_output=True, check=True
    )
    found = []
    for block in done.stdout.split("##Q ")[1:]:
        number, _, rest = block.partition("\n")
        said, _, shown = rest.partition("##A\n")
        question = QUESTIONS[int(number)]
        taken = any(word in said for word in _DONE)
        answer: dict[str, object] = {"question": list(question), "said": said.splitlines()}
        if taken:
            answer["shown"] = question.relevant(shown)
        found.append(answer)
    return found


if __name__ == "__main__":
    ANSWERS.write_text(json.dumps(answers(sys.argv[1]), indent=1) + "\n")
