"""Names that `roost help` explains besides commands and texts: names, terms and codes, from the tables that define
them.

A *source* is a pair of functions: one yields the explanations of a name, the other lists the names it explains. A name
may have several explanations. Names are case-sensitive only if their language is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.cli.help.markdown import columns, readable

if TYPE_CHECKING:
    from roost.base.diagnostics import CodeDoc


class Source(NamedTuple):
    """A kind of names."""

    #: The explanations of a name; none for a name of another kind.
    explained: Callable[[str], Iterator[str]]
    #: All names, as a user types them.
    names: Callable[[], Iterable[str]]


def explained(name: str) -> Iterator[str]:
    """Every explanation of a name."""
    for source in SOURCES:
        yield from source.explained(name)


def names() -> list[str]:
    """Every name that has an explanation, without repetition; patterns such as ``<SUBSYS>_LOG`` are among them."""
    return list(dict.fromkeys(name for source in SOURCES for name in source.names()))


def _paragraph(text: str) -> str:
    return fill(text, columns(), initial_indent="    ", subsequent_indent="    ")


# -- linters and diagnostics -------------------------------------------------------------------------------------


def _rule(name: str) -> Iterator[str]:
    code = name.upper()
    if not re.fullmatch(r"[A-Z]{3}\d{3}", code):
        return
    from roost.gridengine import lint as cells
    from roost.policy import lint
    from roost.policy.lint.pages import page

    rules = [*lint.all_rules(), *(rule.as_rule() for rule in cells.all_rules())]
    yield from (readable(page(rule).strip()) for rule in rules if rule.code == code)


def _rules() -> Iterator[str]:
    from roost.gridengine import lint as cells
    from roost.policy import lint

    yield from (rule.code for rule in lint.all_rules())
    yield from (rule.code for rule in cells.all_rules())


def _codes() -> dict[str, tuple[str, str, str]]:
    """Code to its context, its meaning and its remedy; "" if the meaning contains the remedy."""
    from roost.config.diagnostics import CODES
    from roost.dag.problems import CODES as DAG
    from roost.gridengine.problems import CODES as CELL
    from roost.schedd.submit.diagnostics import CODES as SUBMIT
    from roost.startd.layout.problems import CODES as LAYOUT
    from roost.wire.answer_codes import MEANINGS as ANSWERS

    catalogues: tuple[tuple[str, Mapping[Any, CodeDoc]], ...] = (
        ("in a configuration", CODES),
        ("in a submit description", SUBMIT),
        ("in a layout of slots", LAYOUT),
        ("in a DAG file", DAG),
        ("in a Grid Engine cell", CELL),
    )
    found = {
        str(code): (f"{doc.severity} {where}", doc.meaning, doc.remedy)
        for where, codes in catalogues
        for code, doc in codes.items()
    }
    return found | {code: ("code of an answer of a daemon", text, "") for code, text in ANSWERS.items()}


def _code(name: str) -> Iterator[str]:
    found = _codes().get(name.lower())
    if found is not None:
        kind, meaning, remedy = found
        yield f"{name.lower()}: {kind}\n" + "\n".join(_paragraph(text) for text in (meaning, remedy) if text)


# -- configuration and ads ---------------------------------------------------------------------------------------


def _knob(name: str) -> Iterator[str]:
    from roost.config.knobs import ALL, find
    from roost.policy.catalogue import POLICIES

    row = find(name) or next((row for row in ALL if row.name.lower() == name.lower()), None)
    if row is not None:
        facts = [row.type.value + (f", {row.unit}" if row.unit else ""), row.range_text()]
        facts += ["no default" if row.default is None else f"default {row.default}", f"takes effect: {row.reload}"]
        what = [row.meaning]
        if row.unread is not None:
            what.append(f"No effect. {row.unread.why}")
        elif row.read_by == "config.expand":
            what.append("Other values use it.")
        else:
            what.append(f"Read by roost.{row.read_by}.")
        own = "" if row.name.lower() == name.lower() or not row.is_pattern else f"{name.upper()}, of the family "
        kind = f"knob of the configuration ({'; '.join(filter(None, facts))})"
        yield f"{own}{row.name}: {kind}\n" + "\n".join(map(_paragraph, what))
    policy = POLICIES.get(name.upper())
    if policy is not None and (policy.when or row is None):
        told = [f"Evaluated by the {policy.evaluated_by}, {policy.when}." if policy.when else policy.meaning]
        told += [f"UNDEFINED {policy.when_undefined}; ERROR {policy.when_error}."] if policy.when_undefined else []
        yield f"{policy.name}: policy expression\n" + "\n".join(map(_paragraph, told))


def _knobs() -> Iterator[str]:
    from roost.config.knobs import ALL
    from roost.policy.catalogue import POLICIES

    yield from (row.name for row in ALL)
    yield from POLICIES


def _category(name: str) -> Iterator[str]:
    from roost.runtime.log_settings import CATEGORIES, EFFECTS, NO_EFFECT

    known = name.upper()
    if known.startswith("D_") and known.removeprefix("D_") in CATEGORIES:
        yield f"{known}: category of <DAEMON>_DEBUG and ALL_DEBUG\n{_paragraph(EFFECTS.get(known, NO_EFFECT))}"


def _categories() -> Iterator[str]:
    from roost.runtime.log_settings import CATEGORIES

    yield from (f"D_{name}" for name in sorted(CATEGORIES))


def _attribute(name: str) -> Iterator[str]:
    from roost.classad.values import fold
    from roost.policy.attributes import ATTRIBUTES, attributes_named

    # Families contain any name with their prefix: only names spelled like attributes are treated as such.
    for row in ATTRIBUTES.get(fold(name)) or (attributes_named(name) if name[:1].isupper() else ()):
        kind = f"{row.kind}".lower() + (f", {row.unit}" if row.unit else "")
        yield f"{row.name}: attribute of a {row.side} ad ({kind})\n{_paragraph(row.meaning)}"


def _attributes() -> Iterator[str]:
    from roost.policy.attributes import ATTRIBUTES

    yield from (rows[0].name for rows in ATTRIBUTES.values())


# -- files -------------------------------------------------------------------------------------------------------


def _submit_keyword(name: str) -> Iterator[str]:
    from roost.schedd.submit.docs import meaning_of

    found = meaning_of(name.lower())
    if found is not None:
        keywords, attribute, meaning = found
        yield f"{', '.join(keywords)}: command of submit descriptions (sets {attribute})\n{_paragraph(meaning)}"


def _submit_keywords() -> Iterable[str]:
    from roost.schedd.submit.docs import documented

    return sorted(documented())


def _dag_keyword(name: str) -> Iterator[str]:
    from roost.dag.docs import COMMANDS

    if name.upper() in COMMANDS:
        form, meaning = COMMANDS[name.upper()]
        yield f"{name.upper()}: command of DAG files\n    {form}\n{_paragraph(meaning)}"


def _dag_keywords() -> Iterable[str]:
    from roost.dag.docs import COMMANDS

    return COMMANDS


# -- words and other systems' commands ---------------------------------------------------------------------------


def _word(name: str) -> Iterator[str]:
    from roost.cli.help.glossary import rows

    for row in rows():
        if name.lower() in (word.lower() for word in row.words):
            number = f" {row.cells[1]}" if row.column == "status" else ""
            yield f"{', '.join(row.words)}: {row.column}{number} (glossary: {row.heading})\n{_paragraph(row.meaning)}"


def _words() -> Iterator[str]:
    from roost.cli.help.glossary import rows

    yield from (word for row in rows() for word in row.words)


def _foreign_command(name: str) -> Iterator[str]:
    from roost.cli.condor import page as condor
    from roost.cli.gridengine import page as gridengine

    for system, shim, page in (("HTCondor", "condor", condor), ("Grid Engine", "gridengine", gridengine)):
        if name in page.COMMANDS:
            told, options = page.described(name)
            rows = "\n".join(f"  {shown}\n{_paragraph(meaning)}" for shown, meaning in options)
            about = f'{name}: command of {system}, which `eval "$(roost shims {shim})"` puts on the PATH'
            yield "\n\n".join(filter(None, (about, readable(told), rows)))


def _foreign_commands() -> Iterator[str]:
    from roost.cli.condor import names as condor
    from roost.cli.gridengine import names as gridengine

    yield from condor.COMMANDS
    yield from gridengine.COMMANDS


#: In the order in which explanations are printed.
SOURCES: Final = (
    Source(_rule, _rules),
    Source(_code, lambda: _codes()),
    Source(_knob, _knobs),
    Source(_category, _categories),
    Source(_attribute, _attributes),
    Source(_submit_keyword, _submit_keywords),
    Source(_dag_keyword, _dag_keywords),
    Source(_word, _words),
    Source(_foreign_command, _foreign_commands),
)
