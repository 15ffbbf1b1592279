"""Security contexts of programs. A Roost pool knows its users by their credentials for its bus."""

from __future__ import annotations


class SecurityContext:
    """A token that a program prefers; it is stored but has no effect."""

    __slots__ = ("preferred_token",)

    def __init__(self, token: str | None = None) -> None:
        self.preferred_token = token
