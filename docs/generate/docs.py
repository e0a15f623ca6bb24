"""Build the site: the pages of docs/, texts from elsewhere in the checkout, and a page per environment."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

import environments

ROOT = Path(__file__).parents[2]
#: Texts from outside docs/ -> the names of their pages.
ELSEWHERE = {
    "bench/README.md": "measuring.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "licenses/NOTICE.md": "notice.md",
}
LINK = re.compile(r"(!?\[(?P<text>[^\]]*)\]\()(?P<target>[^)#\s]+)((?:#[^)\s]*)?\))")
INCLUDED = re.compile(r"(^```\{literalinclude\} (?P<text>))(?P<target>\S+)()", re.MULTILINE)
#: What a browser would fetch automatically from another host.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preload|icon)[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//[^"')\s]+"""
)


def pages() -> dict[str, str]:
    """Path of a page in the site -> path of its text in the checkout."""
    own = sorted((ROOT / "docs").rglob("*.md"))
    found = {path.relative_to(ROOT / "docs").as_posix(): path.relative_to(ROOT).as_posix() for path in own}
    return found | {place: path for path, place in ELSEWHERE.items()}


def gather(folder: Path) -> None:
    """Write the source of the site: every page, with its links adapted to the site."""
    shutil.rmtree(folder, ignore_errors=True)
    places = {path: place for place, path in pages().items()}
    for path, place in places.items():
        write(folder / place, linked(path, places, folder))
    for name, text in environments.pages().items():
        write(folder / "environments" / name, text)


def linked(path: str, places: dict[str, str], folder: Path) -> str:
    """The text of a page. Links go to pages, or to files, which are copied; links to folders become text."""

    def turned(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"\w+:", target):
            return match[0]
        there = Path(os.path.normpath(PurePosixPath(path).parent / target)).as_posix()
        if there in places:
            return f"{match[1]}/{places[there]}{match[4]}"
        if (ROOT / there).is_dir():
            return match["text"]
        if not (ROOT / there).is_file():
            raise SystemExit(f"{path} links to {target}, which does not exist.")
        copy = folder / "files" / there
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / there, copy)
        return f"{match[1]}/files/{there}{match[4]}"

    text = (ROOT / path).read_text(encoding="utf-8")
    return INCLUDED.sub(turned, LINK.sub(turned, text))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def outside(site: Path) -> list[str]:
    """What the pages would fetch from other hosts."""
    texts = [path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css")]
    return [
        f"{path.relative_to(site)}: {found}"
        for path in texts
        for found in FETCHED.findall(path.read_text(encoding="utf-8"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/docs", help="default build/docs")
    parser.add_argument("--pages", action="store_true", help="only gather the pages")
    arguments = parser.parse_args()
    source, site = arguments.folder / "source", arguments.folder / "html"
    gather(source)
    if arguments.pages:
        return
    from sphinx.cmd.build import main as sphinx

    strict = ("--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")
    code: int | str = sphinx([*strict, "-b", "html", "-c", str(ROOT / "docs"), str(source), str(site)])
    if code == 0 and (found := outside(site)):
        code = "pages fetch from other hosts:\n" + "\n".join(found)
    print(f"{site}/index.html")
    sys.exit(code)


if __name__ == "__main__":
    main()
