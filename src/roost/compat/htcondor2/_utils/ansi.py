"""Colours and styles of text on a terminal, as the module of that name in HTCondor's bindings offers them."""

from __future__ import annotations

import re
import sys
from enum import Enum
from typing import Any

__version__ = "1"

IS_WINDOWS = False
HAS_COLORAMA = False
IS_TTY = sys.stdout.isatty()
ANSI_RESET = "\033[0m"
ANSI_ESCAPE_RE = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")


class Color(str, Enum):  # noqa: UP042
    """The escape sequences of the sixteen colours."""

    BLACK = "\033[30m"
    RED = "\033[31m"
    GREEN = "\033[32m"
    YELLOW = "\033[33m"
    BLUE = "\033[34m"
    MAGENTA = "\033[35m"
    CYAN = "\033[36m"
    WHITE = "\033[37m"
    DARK_GREY = "\033[90m"
    BRIGHT_RED = "\033[91m"
    BRIGHT_GREEN = "\033[92m"
    BRIGHT_YELLOW = "\033[93m"
    BRIGHT_BLUE = "\033[94m"
    BRIGHT_MAGENTA = "\033[95m"
    BRIGHT_CYAN = "\033[96m"
    BRIGHT_WHITE = "\033[97m"


class Style(str, Enum):  # noqa: UP042
    """The escape sequences of styles."""

    BOLD = "\033[1m"
    UNDERLINE = "\033[4m"
    BLINK = "\033[5m"


class AnsiOptions:
    """Several styles at once: bold, blink, underline, style, color, color_id and highlight (0 to 255)."""

    def __init__(self, **kwargs: Any) -> None:
        style = kwargs.get("style")
        self.style = style
        self.bold = bool(kwargs.get("bold")) or style == Style.BOLD
        self.blink = bool(kwargs.get("blink")) or style == Style.BLINK
        self.underline = bool(kwargs.get("underline")) or style == Style.UNDERLINE
        color = kwargs.get("color")
        self.color = None if color is None else str(getattr(color, "value", color))[2:-1]
        self.color_id = _byte(kwargs.get("color_id"))
        self.highlight = _byte(kwargs.get("highlight"))

    def __str__(self) -> str:
        codes = [code for code, on in (("1", self.bold), ("4", self.underline), ("5", self.blink)) if on]
        if self.color_id is not None:
            codes.append(f"38;5;{self.color_id}")
        elif self.color is not None:
            codes.append(self.color)
        if self.highlight is not None:
            codes.append(f"48;5;{self.highlight}")
        return f"\033[{';'.join(codes)}m" if codes else ""


def _byte(value: int | None) -> int | None:
    return None if value is None else max(0, min(255, value))


def is_capable() -> bool:
    """Whether standard output is a terminal."""
    return IS_TTY


def _styled(code: str, string: str) -> str:
    return f"{code}{string}{ANSI_RESET}" if is_capable() else string


def colorize(string: str, color: Color) -> str:
    """The text in a colour if standard output is a terminal, like the other functions."""
    return _styled(color.value, string)


def id_colorize(string: str, id: int) -> str:
    """The text in one of 256 colours."""
    return _styled(f"\033[38;5;{_byte(id)}m", string)


def highlight(string: str, id: int) -> str:
    """The text on one of 256 colours."""
    return _styled(f"\033[48;5;{_byte(id)}m", string)


def underline(string: str) -> str:
    """The text underlined."""
    return _styled(Style.UNDERLINE.value, string)


def bold(string: str) -> str:
    """The text in bold."""
    return _styled(Style.BOLD.value, string)


def blink(string: str) -> str:
    """The text blinking."""
    return _styled(Style.BLINK.value, string)


def strip_ansi(string: str) -> str:
    """The text without colours and styles."""
    return ANSI_ESCAPE_RE.sub("", string)


def stylize(string: str, options: AnsiOptions) -> str:
    """The text with several styles."""
    return _styled(str(options), string)


__all__ = (
    "ANSI_ESCAPE_RE",
    "ANSI_RESET",
    "HAS_COLORAMA",
    "IS_TTY",
    "IS_WINDOWS",
    "AnsiOptions",
    "Color",
    "Style",
    "blink",
    "bold",
    "colorize",
    "highlight",
    "id_colorize",
    "is_capable",
    "strip_ansi",
    "stylize",
    "underline",
)  # fmt: skip
