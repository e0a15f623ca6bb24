"""The README as the page of a release: a build hook that makes its links lead to the files of the tag."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!\w+:|#)([^)\s]+)\)")


def page(text: str, repository: str, tag: str) -> str:
    """The text with links to files of the repository at a tag; pictures lead to their bytes."""

    def there(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}{link[2]}({repository}/{kind}/{tag}/{link[3]})"

    return LINK.sub(there, text)


class Readme(MetadataHookInterface):
    """Called by hatchling, for each wheel and each sdist."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = page(text, metadata["urls"]["Repository"], f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
