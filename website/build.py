"""``python website/build.py``: build the documentation site in ``build/site``.

Zensical renders the pages of `docs/`. This program does what it leaves open:

* `Stage` copies the pages, and the files outside `docs/` that they link to, to where the generator reads them; a
  program or a submit description becomes a page that shows it, and links are rewritten;
* `finish` makes the diagrams, so that no reader's browser has to load a library from elsewhere;
* `lost_links` checks every link and anchor of the HTML that came out, whatever the generator said.

What it does not do: publish. The site is a directory of plain files; links between them are relative, so it works from
any web server.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DOCS = ROOT / "docs"
#: Of a page: blocks of code, and code within a line. Neither has links.
_CODE = re.compile(r"^(?P<fence>```|~~~).*?^(?P=fence)[ \t]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<open>\]\()(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")
_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Of a rendered page: a cell of a table, and a name in it.
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_NAME = re.compile(r"(?<=<code>)[^<]+(?=</code>)")
#: Larger files that pages link to are not shown.
_SHOWN_BYTES_MAX = 200_000
#: A diagram that is wider than the window shrinks to this, and is scrolled from there on.
_LEAST_PX = 560


class Stage:
    """The source of the site, in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: Diagrams by the id of their place in a page: what they show, and the text that they are drawn from.
        self.diagrams: dict[str, tuple[str, str]] = {}
        self._staged: dict[Path, Path] = {}

    def fill(self) -> None:
        """Copy all pages and what they link to."""
        for path in sorted(DOCS.rglob("*")):
            if path.is_file():
                self._add(path)
        shutil.copytree(HERE / "assets", self.directory / "assets")

    def _add(self, source: Path) -> Path:
        """Stage a file of the repository, once; its place in the site."""
        if source not in self._staged:
            target = self._staged[source] = self.place(source)
            (self.directory / target).parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".md":
                self._write(target, self._page(source, target))
            elif target.suffix == ".md":
                self._write(target, _shown(source))
            else:
                shutil.copyfile(source, self.directory / target)
        return self._staged[source]

    def _write(self, target: Path, text: str) -> None:
        (self.directory / target).write_text(text, encoding="utf-8")

    @staticmethod
    def place(source: Path) -> Path:
        """Where a file of the repository stands in the site."""
        if source.is_relative_to(DOCS):
            path = source.relative_to(DOCS)
            return path.with_name("index.md") if path.name == "README.md" else path
        path = source.relative_to(ROOT)
        if source.suffix == ".md":
            name = "index.md" if source.name == "README.md" else source.name.lower()
            return Path("files") / path.with_name(name) if len(path.parts) > 1 else Path("project") / name
        return Path("files") / path.with_name(f"{path.name}.md")

    def _page(self, source: Path, target: Path) -> str:
        text = source.read_text(encoding="utf-8")

        def linked(found: re.Match[str]) -> str:
            path, anchor = found["path"], found["anchor"] or ""
            if not path or "://" in path:
                return found[0]
            other = (source.parent / path).resolve()
            if other.is_dir():
                other /= "README.md"
            if not other.is_file():
                raise SystemExit(f"{source.relative_to(ROOT)}: the link {path} leads nowhere")
            return f"](<{os.path.relpath(self._add(other), target.parent)}{anchor}>)"

        def drawn(found: re.Match[str]) -> str:
            name = f"diagram-{len(self.diagrams) + 1}"
            self.diagrams[name] = re.findall(r"^#+ (.*)$", text[: found.start()], re.MULTILINE)[-1], found[1]
            return f'<div class="diagram" id="{name}"></div>'

        text = _DIAGRAM.sub(drawn, text)
        if source.is_relative_to(DOCS / "lint") and re.fullmatch(r"[A-Z]+\d+\.md", source.name):
            # Pages of rules are too many for the navigation.
            text = f"[All rules](index.md)\n\n{text}"
        parts, at = [], 0
        for code in _CODE.finditer(text):
            parts += [_LINK.sub(linked, text[at : code.start()]), code[0]]
            at = code.end()
        return "".join([*parts, _LINK.sub(linked, text[at:])])


def _shown(source: Path) -> str:
    """A page that shows a file."""
    text = source.read_text(encoding="utf-8")[:_SHOWN_BYTES_MAX]
    language = {".py": "python", ".sh": "sh", ".toml": "toml"}.get(source.suffix, "")
    return f"# {source.name}\n\n`{source.relative_to(ROOT)}`\n\n~~~~{language}\n{text.rstrip()}\n~~~~\n"


def finish(site: Path, diagrams: dict[str, tuple[str, str]]) -> None:
    """Draw the diagrams, and let long names in tables end a line where a word of them ends."""
    for page in site.rglob("*.html"):
        text = draw(page.read_text(encoding="utf-8"), diagrams)
        text = _CELL.sub(
            lambda cell: _NAME.sub(lambda name: re.sub(r"[/_](?=\w)", r"\g<0><wbr>", name[0]), cell[0]), text
        )
        page.write_text(text, encoding="utf-8")


def draw(text: str, diagrams: dict[str, tuple[str, str]]) -> str:
    """A page with its diagrams, as SVG that shrinks with the window."""
    import mmdr

    for name in re.findall(r'<div class="diagram" id="([^"]+)"></div>', text):
        title, source = diagrams[name]
        svg = mmdr.render(source).svg().replace("merman", f"{name}-svg")
        svg = svg.replace("hsl(-120, 0%, 80%)", "#fff").replace(
            ".edgeLabel rect{opacity:0.5", ".edgeLabel rect{opacity:1"
        )
        wide = re.findall(r'viewBox="\S+ \S+ (\S+) ', svg)[0]
        style = f"width:clamp(min({wide}px,{_LEAST_PX}px),100%,{wide}px)"
        svg = re.sub(r'(<svg[^>]*) width="100%"([^>]*) style="[^"]*"', rf'\1\2 style="{style}"', svg, count=1)
        label = html.escape(f"Diagram: {title}", quote=True)
        whole = f'<div class="diagram" id="{name}" role="img" aria-label="{label}">{svg}</div>'
        text = text.replace(f'<div class="diagram" id="{name}"></div>', whole)
    return text


class _Links(HTMLParser):
    """What a page links to, and where links to it may lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and ids of an element."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value or "")
            elif value is not None and (name == "src" or (name == "href" and tag in ("a", "link"))):
                self.links.append(value)


def lost_links(site: Path) -> list[str]:
    """Links that lead to no file or heading or out to another server's files, and pages that no link leads to."""
    pages = {path: _Links(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    lost, reached = [], {site / "index.html", site / "404.html"}
    for page, found in pages.items():
        if page.name == "404.html":
            continue
        for link in dict.fromkeys(found.links):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            reached |= {target} if target != page else set()
            if not target.exists() or (target in pages and unquote(parts.fragment) not in pages[target].ids):
                lost.append(f"{page.relative_to(site)}: {link}")
    return lost + [f"{page.relative_to(site)}: no link leads to it" for page in sorted(set(pages) - reached)]


def build(output: Path) -> int:
    """Build the site; the number of its pages. Raises SystemExit with what is wrong."""
    work = output.parent / f"{output.name}-source"
    for directory in (work, output):
        shutil.rmtree(directory, ignore_errors=True)
    stage = Stage(work / "pages")
    stage.directory.mkdir(parents=True)
    stage.fill()
    text = (HERE / "zensical.toml").read_text(encoding="utf-8")
    (work / "zensical.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", "zensical.toml"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"zensical: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    shutil.move(work / "site", output)
    finish(output, stage.diagrams)
    if lost := lost_links(output):
        raise SystemExit("\n".join(["links that lead nowhere:", *lost]))
    shutil.rmtree(work)
    return len(list(output.rglob("*.html")))


def main() -> int:
    """Build the site where the command line says."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--output", metavar="DIR", type=Path, default=ROOT / "build/site", help="default: build/site")
    output = parser.parse_args().output.resolve()
    print(f"{build(output)} pages in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
