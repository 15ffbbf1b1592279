"""An explanation as JSON data. Its form is part of the interface; fields may be added but not renamed.

Every value is an object: ``{"type": "integer", "text": "12", "value": 12}``, where ``value`` is null for values that
JSON cannot represent. Missing values are null, lists are present even if empty.

* explanation: ``version`` (1), ``name``, ``expression``, ``value``, ``origin``, ``clauses``, ``also`` (lists of
  clauses), ``changes`` (list of changes that work together), ``changed`` (value), ``truncated``
* clause: ``text``, ``span`` ([start, end] in the text that contains it), ``value``, ``role`` ("cause", "condition"),
  ``path`` (list of steps), ``operands`` (two, or none), ``attributes``, ``change``
* step: ``name``, ``side`` ("MY", "TARGET", ""), ``span``, ``expression``, ``value``, ``origin``
* operand: ``text``, ``value``, ``constant``
* attribute: ``name``, ``side`` ("MY", "TARGET", "", "nowhere"), ``value``, ``expression``, ``origin``
* change: ``subject``, ``side``, ``relation``, ``bound``, ``now``, ``example``, ``clause``, ``result``
* origin: ``file``, ``line``, ``via``
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias

from roost.classad import Value, type_name, unparse_value
from roost.policy.explain import Change, Clause, Explanation, Origin, Step, Used

Json: TypeAlias = dict[str, Any]

#: The version of the form.
VERSION = 1


def render_json(explanation: Explanation, indent: int | None = 2) -> str:
    """The explanation as a JSON document that ends with a line end."""
    return json.dumps(explanation_data(explanation), indent=indent, ensure_ascii=True) + "\n"


def explanation_data(explanation: Explanation) -> Json:
    """The explanation as data of dicts, lists, texts, numbers."""
    return {
        "version": VERSION,
        "name": explanation.name or None,
        "expression": explanation.text,
        "value": value_data(explanation.value),
        "origin": _origin(explanation.origin),
        "clauses": [_clause(clause) for clause in explanation.clauses],
        "also": [_clause(clause) for some in explanation.also for clause in some],
        "also_together": [len(some) for some in explanation.also],
        "changes": [_change(change) for change in explanation.changes],
        "changed": _optional(explanation.changed),
        "truncated": explanation.truncated,
    }


def value_data(value: Value) -> Json:
    """A value with its type."""
    plain: object = None
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        plain = value
    return {"type": type_name(value), "text": unparse_value(value, old=True), "value": plain}


def _optional(value: Value | None) -> Json | None:
    return None if value is None else value_data(value)


def _clause(clause: Clause) -> Json:
    return {
        "text": clause.text,
        "span": list(clause.span),
        "value": value_data(clause.value),
        "role": clause.role.value,
        "path": [_step(step) for step in clause.path],
        "operands": [
            {"text": operand.text, "value": value_data(operand.value), "constant": operand.constant}
            for operand in clause.operands
        ],
        "attributes": [_used(used) for used in clause.attributes],
        "change": None if clause.change is None else _change(clause.change),
    }


def _step(step: Step) -> Json:
    return {
        "name": step.name,
        "side": step.side.value,
        "span": list(step.span),
        "expression": step.text,
        "value": value_data(step.value),
        "origin": _origin(step.origin),
    }


def _used(used: Used) -> Json:
    return {
        "name": used.name,
        "side": used.side.value,
        "value": value_data(used.value),
        "expression": used.text,
        "origin": _origin(used.origin),
    }


def _change(change: Change) -> Json:
    return {
        "subject": change.subject,
        "side": None if change.side is None else change.side.value,
        "relation": change.relation,
        "bound": value_data(change.bound),
        "now": value_data(change.now),
        "example": _optional(change.example),
        "clause": change.clause,
        "result": value_data(change.result),
    }


def _origin(origin: Origin | None) -> Json | None:
    return None if origin is None else {"file": origin.file, "line": origin.line or None, "via": origin.via or None}


__all__ = ["VERSION", "explanation_data", "render_json", "value_data"]
