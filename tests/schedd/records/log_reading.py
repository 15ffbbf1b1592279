"""A reader of job queue logs, by the format alone: what a program makes of one that follows it."""

from __future__ import annotations


class LogReader:
    """The ads that the records lead to: key to (attributes by lower-case name, as text)."""

    def __init__(self) -> None:
        self.ads: dict[str, dict[str, str]] = {}
        self.sequence = 0
        self._open: list[list[str]] | None = None

    def feed(self, text: str) -> None:
        """Read whole lines."""
        for line in text.splitlines():
            self._take(line.split(" ", 3))

    def _take(self, words: list[str]) -> None:
        match words[0]:
            case "107":
                assert not self.ads and words[2] == "CreationTimestamp", words
                self.sequence = int(words[1])
            case "105":
                assert self._open is None, "a transaction within another"
                self._open = []
            case "106":
                assert self._open is not None, "the end of no transaction"
                done, self._open = self._open, None
                for each in done:
                    self._play(each)
            case _:
                self._play(words) if self._open is None else self._open.append(words)

    def _play(self, words: list[str]) -> None:
        code, key, *rest = words
        match code:
            case "101":
                assert key not in self.ads, f"{key} is there twice"
                assert rest == ["Job", "Machine"]
                self.ads[key] = {}
            case "102":
                del self.ads[key]
            case "103":
                self.ads[key][rest[0].lower()] = rest[1]
            case "104":
                del self.ads[key][rest[0].lower()]
            case _:
                raise AssertionError(f"no record is {code}")

    def jobs(self) -> dict[str, dict[str, str]]:
        """Jobs with what they have of their clusters."""
        found = {}
        for key, ad in self.ads.items():
            if key != "0.0" and not key.endswith(".-1"):
                found[key] = self.ads[f"0{key.partition('.')[0]}.-1"] | ad
        return found
