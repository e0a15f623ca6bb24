"""Settings of the site; `nox -s docs` builds it, and docs/generate/docs.py gathers its pages."""

import re
import tomllib
from pathlib import Path

from cogrid import __version__ as release

project_file = Path(__file__).parents[1] / "pyproject.toml"
urls = tomllib.loads(project_file.read_text(encoding="utf-8"))["project"]["urls"]

project = "cogrid"
author = "The cogrid contributors"
project_copyright = author
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"cogrid {release}"
html_baseurl = urls["Documentation"]
html_theme_options = {
    "footer_icons": [{"name": "Repository", "url": urls["Repository"], "html": "Repository", "class": ""}]
}
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False


def plain(app, what, name, obj, options, lines):
    """Docstrings are plain sentences with code in single backticks; a star in them is a star."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]+`)", line)
        lines[number] = "".join(
            f"`{part}`" if part.startswith("`") else part.replace("*", "\\*").replace("|", "\\|")
            for part in parts
        )


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain)
