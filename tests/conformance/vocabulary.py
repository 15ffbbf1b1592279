"""The words that generated cases are made of: names, literals, operators, functions and their argument types."""

from __future__ import annotations

from typing import Final

#: Names that meet each other often, so that references resolve, shadow and run in circles.
NAMES_PLAIN: Final = ("a", "b", "c", "x", "y", "z", "aa", "Foo", "foo", "Zed")

#: Names with a meaning in scoping.
NAMES_SCOPE: Final = ("my", "MY", "target", "TARGET", "Target", "self", "parent", "other", "toplevel", "root", "ad")

#: Names that need quotes, and ordinary ones that look reserved.
NAMES_ODD: Final = ("'a b'", "'is'", "'a'", "'true'", "null", "isx", "_1", "'é'", "'\\n'", "'x\\'y'", "'parent'")

INTEGERS: Final = (
    "0", "1", "-1", "2", "7", "10", "100", "255", "256", "1024", "-7", "2147483647", "2147483648", "-2147483648",
    "9007199254740992", "9007199254740993", "4611686018427387904", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "99999999999999999999", "63", "64", "-64",
)  # fmt: skip

REALS: Final = (
    "0.0", "-0.0", "0.5", "1.5", "2.5", "-2.5", "3.5", "3.0", "1.0", "-1.0", "1e3", "1E-7", "1e22", "1e308",
    "1e400", "-1e400", ".5", "00.5", "123456.789", "0.1", "1e15", "1e16", "9007199254740993.0", "5e-324",
    "2147483648.5", "9.3e18", "-9.3e18", "1.0e10", "0.30000000000000004",
)  # fmt: skip

STRINGS: Final = (
    '""', '"a"', '"A"', '"b"', '"abc"', '"ABC"', '"abcabc"', '"X86_64"', '"x86_64"', '"LINUX"', '"a,b,c"',
    '"a, b ,, c "', '"a b c"', '"1"', '"10"', '"3.5"', '"-2"', '"1e3"', '"true"', '"False"', '"foo\\"bar"',
    '"a\\\\b"', '"\\n"', '"tab\\there"', '"é"', '"\\303\\251x"', '"\\377"', '"\\400"', '"\\x"', '"1+1"', '"b"',
    '"my.a"', '"TARGET.b"', '"x ?: 3"', '"user@domain"', '"slot1@host"', '"8.9.1"', '"8.10.0"', '"10.2"',
    '"a=1;b=2"', '"A=1 B=\'x y\'"', '"1,2,3"', '"1.5, 2"', '"3 1 2"', '","', '" "', '"a" "b"', '"12abc"', '"INF"',
    '"\'"', '"-x \'y z\' w"', '"1:02:03"', '"2020-01-01T00:00:00Z"',
)  # fmt: skip

INSTANT_TEXTS: Final = (
    '"2020-01-01T00:00:00Z"', '"2020-02-29T23:59:59+01:00"', '"1969-12-31T23:59:59-05:30"', '"20200101T000000Z"',
    '"2020-01-01"', '"2020-06-15T12:30:00"', '"1970-01-01T00:00:00+00:00"',
)  # fmt: skip

DURATION_TEXTS: Final = ('"5"', '"1+00:00:10"', '"5.25"', '"-5"', '"1:2:3"', '"0"', '"90"', '"-1+02:03:04"')

TIME_FORMATS: Final = ('"%Y-%m-%d"', '"%H:%M:%S"', '"%c"', '"x"', '""', '"%j %a %%"')

PATTERNS: Final = (
    '"a"', '"^a"', '"[a-z]+"', '"A"', '"(a)(b)?"', '"b*"', '"."', '""', '"^$"', '"("', '"x|a"', '"\\\\d+"',
    '"(.)(.)"', '"c$"', '"[^,]+"', '"é"',
)  # fmt: skip

SUBSTITUTES: Final = ('"x"', '""', '"<\\\\0>"', '"\\\\1-\\\\2"', '"\\\\9"', '"a\\\\\\\\b"', '"\\\\"')

COMPARE_NAMES: Final = ('"<"', '"<="', '"=="', '"!="', '">"', '">="', '"is"', '"isnt"', '"=?="', '"=!="', '"IS"', '"+"')

BINARY_OPERATORS: Final = (
    "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "=?=", "=!=", " is ", " isnt ", "&&", "||", "&&",
    "||", "&", "|", "^", "<<", ">>", ">>>",
)  # fmt: skip

UNARY_OPERATORS: Final = ("-", "-", "+", "!", "!", "~", "- ", "! ")

SPACES: Final = ("", " ", "  ", "\t", "\n", "\r\n", "\f", "\v", " /* c */ ", "/**/", " // c\n")

GARBAGE_TOKENS: Final = (
    "=", "==", "===", "?", ":", ";", ",", ".", "..", "(", ")", "[", "]", "{", "}", "@", "#", "$", "\\", "`", "'",
    '"', "/*", "*/", "//", "1.", "1e", "010", "0x1F", "1K", "is", "isnt", "true", "error", "&", "|", "!", "~", "-",
    "<>", "=>", "é", "\x01", "'a'", '"s"', "5", "x", " ", "?:", ">>>>", "=?", "=!", "...",
)  # fmt: skip

#: Attributes of machines and jobs, by the type they mostly have.
ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "int": ("Memory", "Cpus", "KeyboardIdle", "JobStatus", "RequestMemory", "QDate"),
    "real": ("LoadAvg", "CondorLoadAvg", "Rank"),
    "string": ("Arch", "OpSys", "State", "Owner", "Machine", "GroupList"),
    "bool": ("Start", "HasFileTransfer", "WantCheckpoint", "IsDesktop"),
    "list": ("Gpus", "Tags"),
    "ad": ("Rental",),
    "abstime": ("Deadline",),
    "reltime": ("Lease",),
}

#: Functions that ask the clock when they get no argument.
CLOCK_WHEN_EMPTY: Final = frozenset(("absTime", "formatTime"))

#: Every built-in function: name, types of its results, types of its arguments. Optional arguments are
#: separate rows. Functions of the clock, of chance and of the machine stand where the answer is stable.
FUNCTIONS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("isUndefined", "bool", ("any",)),
    ("isError", "bool", ("any",)),
    ("isString", "bool", ("any",)),
    ("isInteger", "bool", ("any",)),
    ("isReal", "bool", ("any",)),
    ("isBoolean", "bool", ("any",)),
    ("isList", "bool", ("any",)),
    ("isClassAd", "bool", ("any",)),
    ("isAbsTime", "bool", ("any",)),
    ("isRelTime", "bool", ("any",)),
    ("int", "int", ("any",)),
    ("int", "int", ("number",)),
    ("real", "real", ("number",)),
    ("round", "int", ("number",)),
    ("eval", "num", ("code",)),
    ("real", "real", ("any",)),
    ("string", "string", ("any",)),
    ("bool", "bool", ("any",)),
    ("absTime", "abstime", ("num",)),
    ("absTime", "abstime", ("num", "int")),
    ("absTime", "abstime", ("instant",)),
    ("relTime", "reltime", ("num",)),
    ("relTime", "reltime", ("duration",)),
    ("ifThenElse", "num string", ("bool", "any", "any")),
    ("eval", "num", ("string",)),
    ("eval", "num", ("any",)),
    ("unparse", "string", ("name",)),
    ("unresolved", "string", ("name",)),
    ("unresolved", "bool", ("name", "pattern")),
    ("evalInEachContext", "list", ("any", "ads")),
    ("evalInEachContext", "list", ("name", "ads")),
    ("countMatches", "int", ("bool", "ads")),
    ("countMatches", "int", ("name", "ads")),
    ("getYear", "int", ("abstime",)),
    ("getMonth", "int", ("abstime",)),
    ("getDayOfYear", "int", ("abstime",)),
    ("getDayOfMonth", "int", ("abstime",)),
    ("getDayOfWeek", "int", ("abstime",)),
    ("getDays", "int", ("reltime",)),
    ("getHours", "int", ("abstime",)),
    ("getHours", "int", ("reltime",)),
    ("getMinutes", "int", ("reltime",)),
    ("getSeconds", "int", ("reltime",)),
    ("splitTime", "ad", ("abstime",)),
    ("splitTime", "ad", ("reltime",)),
    ("formatTime", "string", ("num", "format")),
    ("formatTime", "string", ("abstime", "format")),
    ("interval", "string", ("int",)),
    ("strcat", "string", ("string", "any")),
    ("strcat", "string", ("string", "string", "num")),
    ("join", "string", ("string", "strings")),
    ("join", "string", ("string", "string", "any")),
    ("join", "string", ("strings",)),
    ("toUpper", "string", ("string",)),
    ("toLower", "string", ("any",)),
    ("substr", "string", ("string", "int")),
    ("substr", "string", ("string", "int", "int")),
    ("strcmp", "int", ("string", "string")),
    ("stricmp", "int", ("string", "string")),
    ("size", "int", ("string",)),
    ("size", "int", ("list",)),
    ("size", "int", ("ad",)),
    ("versioncmp", "int", ("version", "version")),
    ("versionLE", "bool", ("version", "version")),
    ("versionLT", "bool", ("version", "version")),
    ("versionGE", "bool", ("version", "version")),
    ("versionGT", "bool", ("version", "version")),
    ("versionEQ", "bool", ("version", "version")),
    ("version_in_range", "bool", ("version", "version", "version")),
    ("regexp", "bool", ("pattern", "string")),
    ("regexp", "bool", ("pattern", "string", "options")),
    ("regexpMember", "bool", ("pattern", "strings")),
    ("regexpMember", "bool", ("pattern", "strings", "options")),
    ("regexps", "string", ("pattern", "string", "substitute")),
    ("regexps", "string", ("pattern", "string", "substitute", "options")),
    ("replace", "string", ("pattern", "string", "substitute")),
    ("replace", "string", ("pattern", "string", "substitute", "options")),
    ("replaceAll", "string", ("pattern", "string", "substitute")),
    ("replaceAll", "string", ("pattern", "string", "substitute", "options")),
    ("split", "list", ("words",)),
    ("split", "list", ("string", "string")),
    ("splitUserName", "list", ("string",)),
    ("splitSlotName", "list", ("string",)),
    ("userMap", "string", ("string", "string")),
    ("userMap", "string", ("string", "string", "string")),
    ("userMap", "string", ("string", "string", "string", "string")),
    ("stringListSize", "int", ("words",)),
    ("stringListSize", "int", ("words", "string")),
    ("stringListSum", "num", ("words",)),
    ("stringListAvg", "num", ("words",)),
    ("stringListMin", "num", ("words",)),
    ("stringListMax", "num", ("words", "string")),
    ("stringListMember", "bool", ("string", "words")),
    ("stringListMember", "bool", ("string", "words", "string")),
    ("stringListIMember", "bool", ("string", "words")),
    ("stringListsIntersect", "bool", ("words", "words")),
    ("stringListSubsetMatch", "bool", ("words", "words")),
    ("stringListISubsetMatch", "bool", ("words", "words", "string")),
    ("stringList_regexpMember", "bool", ("pattern", "words")),
    ("stringList_regexpMember", "bool", ("pattern", "words", "string")),
    ("stringList_regexpMember", "bool", ("pattern", "words", "string", "options")),
    ("member", "bool", ("any", "list")),
    ("member", "bool", ("num", "numbers")),
    ("member", "bool", ("string", "strings")),
    ("identicalMember", "bool", ("any", "list")),
    ("anyCompare", "bool", ("comparison", "numbers", "num")),
    ("allCompare", "bool", ("comparison", "numbers", "num")),
    ("anyCompare", "bool", ("comparison", "list", "any")),
    ("allCompare", "bool", ("comparison", "list", "any")),
    ("sum", "num", ("numbers",)),
    ("avg", "num", ("numbers",)),
    ("min", "num", ("numbers",)),
    ("max", "num", ("numbers",)),
    ("sum", "num", ("list",)),
    ("floor", "int", ("num",)),
    ("ceil", "int", ("num",)),
    ("ceiling", "int", ("num",)),
    ("round", "int", ("num",)),
    ("floor", "int", ("any",)),
    ("pow", "num", ("num", "num")),
    ("pow", "int", ("int", "int")),
    ("quantize", "num", ("num", "num")),
    ("quantize", "num", ("num", "numbers")),
    ("envV1ToV2", "string", ("command",)),
    ("mergeEnvironment", "string", ("command", "command")),
    ("listToArgs", "string", ("strings",)),
    ("argsToList", "list", ("command",)),
    ("argsToList", "list", ("command", "int")),
    ("listToArgs", "string", ("strings", "int")),
    ("isReal", "bool", ("random",)),
    ("isInteger", "bool", ("clock",)),
)
