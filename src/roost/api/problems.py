"""Errors in the form of RFC 9457: a problem document for programs, and a page for people."""

from __future__ import annotations

from typing import Any, Final

from roost.wire.plain import PlainAnswer

#: Code of an answer to the HTTP status.
_STATUS: Final = {
    "bad-request": 422,
    "permission-denied": 403,
    "not-permitted": 403,
    "not-admitted": 403,
    "not-found": 404,
    "already-done": 409,
    "bad-status": 409,
    "refused": 409,
    "released-too-often": 409,
    "cell-refused": 422,
    "cell-changed-since": 409,
    "too-many-reservations": 409,
    "over-budget": 422,
    "busy": 503,
    "no-database": 503,
    "database-damaged": 503,
    "jsv-failed": 503,
    "internal": 502,
    "bad-message": 502,
}
_TITLES: Final = {
    400: "The request cannot be read",
    401: "Log in first",
    403: "Not allowed",
    404: "Not found",
    405: "This method is not supported here",
    409: "It is not possible now",
    413: "The request is too large",
    415: "This content type is not supported",
    422: "The request is not valid",
    429: "Too many requests",
    500: "Internal error",
    502: "A daemon failed",
    503: "The pool is not responding",
}


class Problem(Exception):
    """A request that failed."""

    def __init__(self, status: int, detail: str, *, code: str = "", remedy: str = "", **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code
        self.remedy = remedy
        self.more = more

    @property
    def title(self) -> str:
        """The kind of problem."""
        return _TITLES.get(self.status, "The request failed")

    def data(self, instance: str) -> dict[str, Any]:
        """The document."""
        found: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.code:
            found |= {"code": self.code}
        if self.remedy:
            found |= {"remedy": self.remedy}
        return found | self.more | {"instance": instance}


class DaemonRefused(Problem):
    """A daemon answered with a refusal."""

    def __init__(self, answer: PlainAnswer) -> None:
        text = answer.text or answer.code or "refused"
        super().__init__(_STATUS.get(answer.code, 409), text, code=answer.code, remedy=answer.remedy)
        self.answer = answer


class PoolSilent(Problem):
    """The pool cannot be reached, or lacks what is requested; the text says why and what to do."""

    def __init__(self, text: str) -> None:
        detail, _, remedy = text.partition("\n    hint: ")
        status = 404 if detail.startswith("there is no ") else 422 if " is not a job" in detail else 503
        super().__init__(status, detail, remedy=remedy)
