"""`Submit`: a submit description that programs build, inspect and change like a dict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final

from roost.compat.htcondor2.enums import SubmitMethod
from roost.compat.htcondor2.errors import HTCondorException
from roost.runtime.queue.submit_host import SystemSubmitHost
from roost.schedd.submit.definitions import DefinitionsError, expanded, read_definitions, read_items
from roost.schedd.submit.queue_statement import QueueItems

_PARSE_FAILED: Final = "parse_up_to_q_line() failed"
_INPUT: Final = "input must be a dictionary mapping string to strings, a string, or None"
#: Types allowed as the value of a line; values are stored as text.
_VALUES: Final = (str, int, float)

#: An item from a program: a string for a single variable, or a dict of variables.
Item = str | Mapping[str, str]


class Submit(MutableMapping[str, str]):
    """A submit description: keys ignore case, ``+Name`` is ``MY.Name``, values are texts with macros in them."""

    def __init__(self, input: dict[str, str] | str | None = None, queue: str | None = None, **kwargs: Any) -> None:
        #: Folded key to key and text.
        self._lines: dict[str, tuple[str, str]] = {}
        self._queue = ""
        self._item_lines: tuple[str, ...] | None = None
        self._method = int(SubmitMethod.PythonBindings)
        if isinstance(input, str):
            self._read(input)
        elif isinstance(input, Mapping):
            self.update(input)
        elif input is not None:
            raise TypeError(_INPUT)
        self.update(kwargs)
        if queue is not None:
            self.setQArgs(queue)

    def _read(self, text: str) -> None:
        try:
            found = read_definitions(text, SystemSubmitHost(), now=time.time())
        except DefinitionsError as error:
            raise ValueError(f"{_PARSE_FAILED}\n{error}") from None
        for name, value in found.texts.items():
            self[name] = value
        self._queue, self._item_lines = found.queue or "", found.item_lines

    # -- mapping -----------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> str:
        return self._lines[_folded(key)][1] if _folded(key) in self._lines else _missing(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError("key must be a string")
        text = self._value_text(value)
        if "\n" in text:
            raise ValueError(f"{_PARSE_FAILED}\n{key}: a value has one line")
        name = f"MY.{key[1:]}" if key.startswith("+") else key
        old = self._lines.get(_folded(name))
        self._lines[_folded(name)] = (old[0] if old else name, text)

    def _value_text(self, value: Any) -> str:
        """The text of a value. Raises TypeError."""
        if hasattr(value, "eval"):
            return repr(value)
        if not isinstance(value, _VALUES) and not hasattr(value, "__fspath__"):
            raise TypeError("value must be a string")
        return str(value)

    def __delitem__(self, key: str) -> None:
        if _folded(key) not in self._lines:
            _missing(key)
        del self._lines[_folded(key)]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _folded(key) in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._lines.values()])

    def __len__(self) -> int:
        return len(self._lines)

    # -- the text ----------------------------------------------------------------------------------

    def __str__(self) -> str:
        queue = f"queue {self._queue}".rstrip()
        items = "" if self._item_lines is None else "".join(f"{line}\n" for line in self._item_lines) + ")\n"
        return f"{self._text()}{queue}\n{items}"

    def __repr__(self) -> str:
        return f"Submit({self})"

    def _text(self) -> str:
        """The lines before the queue statement."""
        return "".join(f"{name} = {text}\n" for name, text in self._lines.values())

    def expand(self, attr: str) -> str:
        """The expanded value of a line for the first job. Raises KeyError."""
        if attr not in self:
            _missing(attr)
        return expanded(dict(self.items()), _folded(attr), SystemSubmitHost(), now=time.time())

    # -- the queue statement -----------------------------------------------------------------------

    def getQArgs(self) -> str:
        """The arguments of `queue`."""
        return self._queue

    def setQArgs(self, args: str) -> None:
        """Set the arguments of `queue`; items in parentheses may span lines."""
        if not isinstance(args, str):
            raise TypeError("args must be a string")
        self._queue, self._item_lines = _split(args)

    def itemdata(self, qargs: str | None = None) -> Iterator[str] | Iterator[dict[str, str]] | None:
        """The items of the queue statement, or of another statement; None for one without items."""
        items = self._items(qargs)
        if not items.variables:
            return None
        return iter([dict(zip(items.variables, row, strict=True)) for row in items.rows])

    def _items(self, qargs: str | None = None) -> QueueItems:
        queue, lines = (self._queue, self._item_lines) if qargs is None else _split(qargs)
        try:
            return read_items(dict(self.items()), queue, lines, SystemSubmitHost(), now=time.time())
        except DefinitionsError as error:
            raise ValueError(f"invalid qargs\n{error}") from None

    def _given_items(self, count: int, itemdata: Iterable[Item] | None, queue: str | None) -> QueueItems:
        """The items to submit: the program's own, or the queue statement's."""
        if itemdata is None:
            found = self._items(queue)
            return found if not count else QueueItems(
                count=count, variables=found.variables, rows=found.rows, indices=found.indices
            )  # fmt: skip
        rows = list(itemdata)
        names = tuple(rows[0]) if rows and isinstance(rows[0], Mapping) else self._variables(queue)
        return QueueItems(count=count or self._count(queue), variables=names, rows=tuple(_row(x, names) for x in rows))

    def _variables(self, queue: str | None) -> tuple[str, ...]:
        words = (self._queue if queue is None else queue).partition("(")[0].replace(",", " ").split()
        found = [word for word in words if not word.isdecimal()]
        for keyword in ("in", "from", "matching"):
            if keyword in found:
                found = found[: found.index(keyword)]
        return tuple(found) or ("Item",)

    def _count(self, queue: str | None) -> int:
        first = (self._queue if queue is None else queue).partition(" ")[0]
        return int(first) if first.isdecimal() else 1

    # -- the rest ----------------------------------------------------------------------------------

    def getSubmitMethod(self) -> int:
        """The submit method of the jobs."""
        return self._method

    def setSubmitMethod(self, method_value: SubmitMethod | int = -1, allow_reserved_values: bool = False) -> None:
        """Set the submit method of the jobs; numbers below 100 are reserved by HTCondor."""
        if 0 <= method_value < SubmitMethod.UserSet and not allow_reserved_values:
            raise ValueError(
                "Submit method value must be 100 or greater, or allowed_reserved_values must be True."
            )  # fmt: skip
        self._method = int(method_value)

    def issue_credentials(self) -> str | None:
        """No effect: jobs of a Roost pool get no external credentials."""
        return None

    def jobs(
        self,
        count: int = 0,
        itemdata: Iterable[Item] | None = None,
        clusterid: int = 1,
        procid: int = 0,
        qdate: int = 0,
        owner: str = "",
    ) -> Iterator[Any]:
        """The complete ads of the jobs, without submitting them."""
        from roost.compat.htcondor2.submitting import ads

        return ads(self, count, itemdata, (clusterid, procid), qdate, owner)

    procs = jobs

    @staticmethod
    def from_dag(filename: str, options: dict[str, int | bool | str] | None = None) -> Submit:
        """The description of the job that runs a DAG. Raises KeyError, HTCondorException."""
        from roost.compat.htcondor2.from_dag import description

        return Submit(description(filename, options or {}))

    @staticmethod
    def from_dag_options() -> None:
        """Print the options of `from_dag`."""
        from roost.compat.htcondor2.from_dag import OPTIONS

        for name, option in OPTIONS.items():
            print(f"{name:>23} : {f'({option.kind})':<11}| {option.help}")


def _folded(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError("key must be a string")
    key = key.lower()
    return f"my.{key[1:]}" if key.startswith("+") else key


def _missing(key: str) -> str:
    raise KeyError(key)


def _split(args: str) -> tuple[str, tuple[str, ...] | None]:
    """A queue statement and the lines of its items, if any."""
    first, *lines = args.strip().split("\n")
    if not lines:
        return first.strip(), None
    if lines[-1].strip() == ")":
        lines.pop()
    return first.strip(), tuple(line.strip() for line in lines if line.strip())


def _row(item: Item, names: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(item, Mapping):
        try:
            return tuple(str(item[name]) for name in names)
        except KeyError as error:
            raise HTCondorException(
                f"itemdata: an item has no {error}; the first one has: {', '.join(names)}"
            ) from None
    if len(names) == 1:
        return (str(item),)
    words = str(item).replace(",", " ").split(None, len(names) - 1)
    return (*words, *("" for _ in range(len(names) - len(words))))
