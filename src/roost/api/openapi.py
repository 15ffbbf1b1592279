"""The OpenAPI document, generated from the rows of resources and the tables of the daemons' requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from roost import __version__
from roost.api.calls import Row
from roost.api.people import WebRole
from roost.api.schema import Schemas, parameters

PREFIX: Final = "/api/v1"
_PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "remedy": {"type": "string"},
        "instance": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}
#: Status codes of problems that any call may have.
_PROBLEMS: Final = ("400", "401", "403", "404", "409", "413", "415", "422", "429", "502", "503")


def document(rows: Iterable[Row], server: str) -> dict[str, Any]:
    """The document; `server`: the prefix of paths."""
    schemas = Schemas()
    schemas.components["Problem"] = dict(_PROBLEM)
    paths: dict[str, Any] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Roost",
            "version": __version__,
            "description": "What the commands of Roost ask and do, over HTTP. "
            f"Roles: {', '.join(role.word for role in WebRole)}; each includes those before it.",
        },
        "servers": [{"url": server + PREFIX}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "roost_session"},
            },
            "responses": {
                "Problem": {
                    "description": "What went wrong (RFC 9457).",
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
        },
    }


def _operation(row: Row, schemas: Schemas) -> dict[str, Any]:
    reply: dict[str, Any] = {"description": row.about}
    if row.status != 204:
        reply["content"] = {"application/json": {"schema": schemas.of(row.reply)}}
    names = re.findall(r"\{(\w+)\}", row.path)
    at = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    found: dict[str, Any] = {
        "operationId": f"{row.method.lower()}{re.sub(r'[^A-Za-z0-9]+', '_', row.path)}".rstrip("_"),
        "summary": row.about,
        "x-role": row.role.word,
        "parameters": at + (parameters(row.query, schemas) if row.query is not None else []),
        "responses": {
            str(row.status): reply,
            **{status: {"$ref": "#/components/responses/Problem"} for status in _PROBLEMS},
        },
    }
    if row.body is not None:
        content = {"application/json": {"schema": schemas.of(row.body)}}
        found["requestBody"] = {"required": bool(row.body._required), "content": content}
    return found
