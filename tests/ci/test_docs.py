"""The site's pages: gathered whole, linked, in the navigation, and made from what there is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import cogrid
from tests.ci.support import ROOT, script
from tests.support import EVERY_ID
from tests.test_border import PUBLIC, exported

pytestmark = pytest.mark.xdist_group("docs")  # the pages are gathered once


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    done = script(str(ROOT / "docs/generate/docs.py"), "--pages", "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    return folder / "source"


def test_every_environment_has_a_page(source: Path) -> None:
    index = (source / "environments/index.md").read_text(encoding="utf-8")
    for id in EVERY_ID:
        env = cogrid.make(id)
        assert f'">\n\n  [{id}](' in index, "a picture, and a link that is no HTML"
        ((name, part),) = re.findall(rf"\[{id}\]\(([\w-]+)\.md(#[\w-]+)?\)", index)
        page = (source / f"environments/{name}.md").read_text(encoding="utf-8")
        assert env.spec.layout[0].text in page
        assert env.spec.how_to_play in page
        if name != id:  # a page of many
            assert f"### {id}\n" in page
            assert part == f"#{id.lower()}"
            continue
        for number, name in enumerate(env.feature_names):
            assert f"| {number} | {name} |" in page
        for number, name in enumerate(env.action_names):
            assert f"| {number} | {name} |" in page


def test_rules_rewards_and_options_are_those_of_the_spec(source: Path) -> None:
    page = (source / "environments/Overcooked-CrampedRoom-V0.md").read_text(encoding="utf-8")
    assert "| nothing | take dish | take onion | pick up | – | – |" in page
    assert "| delivery | deliver | +20 | every agent | always |" in page
    assert "| dish | take dish | +3 | the actor | as shaping, while dishes < pots in use |" in page
    assert "| `lossless` | (4, 5, 26) | uint8 |" in page
    assert "| `cook_start` | `'auto'` | " in page
    arena = (source / "environments/Arena-V0.md").read_text(encoding="utf-8")
    assert "The reward is always 0." in arena
    assert "Here interact and toggle do nothing." in arena
    assert "`Scattered`: A thing that reset scatters" in arena
    assert "Here: thing wall, density 0.1." in arena
    assert "`features`" not in arena, "it has none"


def test_every_option_is_explained(source: Path) -> None:
    for page in (source / "environments").glob("*-V*.md"):
        options = page.read_text(encoding="utf-8").partition("## Options")[2].partition("## Versions")[0]
        rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", options, re.MULTILINE)
        assert len(rows) > 8
        unexplained = [name for name, meaning in rows if not meaning]
        assert not unexplained, f"{page.name}: write a comment at the field of {unexplained}"


def test_every_page_is_in_the_navigation(source: Path) -> None:
    """The build says so too; this one is quick."""
    lists = "".join(
        re.findall(r"```\{toctree\}(.*?)```", (source / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    )
    listed = [line for line in lists.split("\n") if line and not line.startswith(":")]
    pages = {path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.md")}
    apart = {page for page in pages if page.startswith(("decisions/", "environments/"))} | {"index"}
    assert sorted(listed) == sorted(pages - apart | {"environments/index"})


def test_links_lead_to_pages_and_files_of_the_site(source: Path) -> None:
    for page in source.rglob("*.md"):
        for target in re.findall(r"\]\(/([^)#]+)", page.read_text(encoding="utf-8")):
            assert (source / target).is_file(), f"{page.name}: {target}"
    assert "](/measuring.md)" in (source / "benchmarks.md").read_text(encoding="utf-8")


def test_a_dead_link_is_named(tmp_path: Path) -> None:
    texts = ("CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "licenses/NOTICE.md")
    for name in ("docs/generate/docs.py", "docs/generate/environments.py", *texts):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "docs/index.md").write_text("[gone](gone.md)\n", encoding="utf-8")
    done = script(str(tmp_path / "docs/generate/docs.py"), "--pages", "--folder", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "docs/index.md links to gone.md, which does not exist." in done.stderr


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_lists_the_public_names(module: str) -> None:
    """Each from its module or another that exports it, or in a sentence; `FAMILY` is for the registry."""
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    for name in exported(module) - {"__version__", "FAMILY"}:
        assert re.search(rf":: cogrid[\w.]*\.{name}\b|`{name}`", reference), name


def test_every_decision_begins_with_its_state_and_the_gaps_are_explained() -> None:
    numbers = set()
    for path in (ROOT / "docs/decisions").glob("*.md"):
        state = path.read_text(encoding="utf-8").splitlines()[2]
        assert re.match(r"\*\*(Accepted|Superseded)\b", state), path.name
        numbers.add(path.name[:3])
    gaps = [f"{number:03}" for number in range(1, int(max(numbers))) if f"{number:03}" not in numbers]
    text = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
    assert [gap for gap in gaps if gap not in text] == []


def test_commands_in_the_texts_are_those_of_nox() -> None:
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    known = set(re.findall(r"^def (\w+)\(session", noxfile, re.MULTILINE)) | set(
        re.findall(r'name="([\w-]+)"', noxfile)
    )
    for path in texts:
        named = re.findall(r'nox -s "?([a-z][\w-]*)', path.read_text(encoding="utf-8"))
        assert set(named) <= known, path.name


def test_every_fault_of_the_first_day_has_tests_that_exist() -> None:
    text = (ROOT / "docs/developing/sessions.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (.+) \| (.+) \|$", text.partition("| fault | tests |\n")[2])
    assert len(rows) >= 17
    for fault, tests in rows:
        files = [re.findall(r"`([\w./]+)`", one) for one in tests.split(";")]
        assert all(len(words) > 1 for words in files), fault
        for file, *names in files:
            code = (ROOT / file).read_text(encoding="utf-8")
            assert [name for name in names if not re.search(rf"(?m)^def {name}\(", code)] == [], fault


def test_guarantees_name_tests_that_exist() -> None:
    text = (ROOT / "docs/developing/guarantees.md").read_text(encoding="utf-8")
    places = set(re.findall(r"`(tests/[\w./]+)`", text))
    assert len(places) > 8
    assert [place for place in sorted(places) if not (ROOT / place).exists()] == []
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in tests, name
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    for name in ("validate", "fuzz", "oracles-full", "mutants", "bench-counters", "gpu-compile"):
        assert f"`{name}" in text
        assert f'"{name}"' in noxfile or f"def {name}(" in noxfile
