"""Baselines: what is accepted and what is not, where it goes, and what is wrong with a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import ROOT
from bench.compare.findings import judge
from bench.exit_codes import UsageError
from bench.measure.plan import Plan
from bench.records import Against, Configuration, Git, Result, Row
from bench.storage import accepting, baselines, machine, results
from bench.storage.baselines import CounterSet, Slowdowns
from bench.storage.identity import identity
from tests.bench.commands.support import bench
from tests.bench.support import around, paired, result, row

PLAN = Configuration.of("quick", Plan(), [])
COUNTS, NUMPY_COUNTS = "counters-0.10.2-cpu.json", "counters-numpy-2.4.0-python-3.11.json"


def today(**changes: Any) -> Row:
    """A row that today's code would measure in the same way."""
    found = row(**changes)
    return replace(found, identity=identity(found.case.case, Plan()))


def measured(*rows: Row, **changes: Any) -> Result:
    """A result whose fingerprint is that of its system."""
    found = result(list(rows), **{"configuration": PLAN, **changes})
    return replace(found, fingerprint=machine.fingerprint(found.system))


def write(path: Path, found: baselines.Baseline) -> Path:
    results.write(path, found)
    return path


def accept(tmp_path: Path, found: Result, reason: str = "first", **more: Any) -> accepting.Accepted:
    return accepting.accept([write(tmp_path / "r.json", found)], reason, **more)


def test_times_go_by_machine_and_counters_by_version(tmp_path: Path, folder: Path) -> None:
    found = measured(today(name="a"), today(name="b", mode="numpy-batch"))
    accepted = accept(tmp_path, found)
    assert accepted.left_out == []
    names = sorted([f"{found.fingerprint}.json", COUNTS, NUMPY_COUNTS])
    assert sorted(path.name for path in accepted.written) == names == sorted(p.name for p in folder.iterdir())
    times = baselines.load(folder / f"{found.fingerprint}.json")
    (record,) = times.accepted
    assert (record.sha, record.dirty, record.reason) == (found.git.sha, False, "first")
    assert record.rows == ["a", "b"]
    assert record.when.startswith("20")
    assert baselines.load(folder / COUNTS).rows[0].counters == row().counters
    assert [baselines.troubles(path) for path in baselines.files()] == [[], [], []]


def test_what_was_accepted_is_what_a_run_is_held_against(tmp_path: Path) -> None:
    accept(tmp_path, measured(today(name="a", speed=2e6)))
    after = today(name="a", speed=1e6, counters={"equations": 160, "flops": 1000, "bytes_accessed": 2000})
    earlier = baselines.committed()
    (finding,) = judge(measured(after), earlier)
    assert finding.text == "100 % slower"
    assert [change.text() for change in finding.grown] == ["equations grew 4.6 %"]
    (elsewhere,) = judge(measured(after, cpu="another"), earlier)
    assert elsewhere.text == "not comparable: other cpu"
    assert elsewhere.grown, "counters do not depend on the processor"


def test_newer_rows_replace_older_ones_with_their_record(tmp_path: Path, folder: Path) -> None:
    accept(tmp_path, measured(today(name="a"), today(name="b")))
    accept(tmp_path, measured(today(name="b", speed=3e6), today(name="c")), "second")
    found = baselines.load(folder / f"{measured().fingerprint}.json")
    assert [one.name for one in found.rows] == ["a", "b", "c"]
    assert [(one.reason, one.rows) for one in found.accepted] == [
        ("first", ["a"]),
        ("second", ["b", "c"]),
    ]
    assert found.rows[1].numbers.median == 3e6
    assert len(found.configuration.planned) == 3
    accept(tmp_path, measured(today(name="a"), today(name="b"), today(name="c")), "third")
    (record,) = baselines.load(folder / COUNTS).accepted
    assert record.reason == "third"


def test_doubtful_rows_are_left_out_and_counters_have_no_doubt(tmp_path: Path, folder: Path) -> None:
    accepted = accept(
        tmp_path,
        measured(
            today(name="fine"),
            today(name="shaky", samples=around(1e6, 0.5)),
            today(name="broken", error="no"),
            today(name="large", error="9 GB", status="out of memory"),
            row(name="old"),
        ),
    )
    assert accepted.left_out == [
        "shaky: unstable, its counters were kept.",
        "broken: failed: no",
        "large: out of memory: 9 GB",
        "old: measured by code that has changed since.",
    ]
    times, counted = (baselines.load(folder / name) for name in (f"{measured().fingerprint}.json", COUNTS))
    assert [one.name for one in times.rows] == ["fine"]
    assert [one.name for one in counted.rows] == ["fine", "shaky"]


DIRTY = Git(sha="a" * 40, dirty=True)  # as of a file that was written before the paths were kept


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (measured(today()), "  ", "--reason is empty"),
        (measured(today(), git=DIRTY), "why", "had changes: commit .* --allow-dirty"),
        (
            measured(today(), git=replace(DIRTY, changes=["a b.txt"])),
            "why",
            r"had changes \(a b\.txt\): commit",
        ),
        (measured(today(), git=replace(DIRTY, changes=list("abcde"))), "why", r"\(a, b, c and 2 more\)"),
        (measured(today(), git=None), "why", "had no revision"),
        (measured(today(name="x", error="no", status="mismatch")), "why", r"wrong results \(x\)"),
        (measured(today(), flags={"XLA_FLAGS": "--x"}), "why", "measured under XLA_FLAGS"),
        (measured(today(), configuration=replace(PLAN, iterations=9)), "why", "in a way of its own"),
        (measured(today(), configuration=replace(PLAN, suite="ab")), "why", "it has no confirmed slowdown"),
        (measured(row()), "why", "no row that today's code measured"),
    ],
)
def test_a_result_that_makes_no_baseline_is_refused(
    tmp_path: Path, folder: Path, found: Result, reason: str, words: str
) -> None:
    good = write(tmp_path / "good.json", measured(today()))
    with pytest.raises(UsageError, match=words):
        accepting.accept([good, write(tmp_path / "bad.json", found)], reason)
    assert not list(folder.iterdir()), "all of it or nothing"


def test_a_dirty_checkout_can_be_allowed(tmp_path: Path, folder: Path) -> None:
    accept(tmp_path, measured(today(), git=DIRTY), allow_dirty=True)
    assert baselines.load(folder / COUNTS).accepted[0].dirty is True
    accept(tmp_path, measured(today(), git=None), allow_dirty=True)
    assert baselines.load(folder / COUNTS).accepted[0].sha is None


@pytest.mark.parametrize("text", ["{", '{"schema": 0, "key": {}}', '{"schema": 1, "key": {"jaxlib": "1"}}'])
def test_a_damaged_or_older_baseline_is_left_untouched(tmp_path: Path, folder: Path, text: str) -> None:
    (folder / COUNTS).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=f"{COUNTS} (is damaged|has schema version)"):
        accept(tmp_path, measured(today()))
    assert (folder / COUNTS).read_text(encoding="utf-8") == text
    assert [path.name for path in folder.iterdir()] == [COUNTS]
    (trouble,) = baselines.troubles(folder / COUNTS)
    assert trouble.startswith(str(folder / COUNTS))


def test_check_finds_what_is_wrong_with_a_file(tmp_path: Path, folder: Path) -> None:
    accept(tmp_path, measured(today()))
    times = folder / f"{measured().fingerprint}.json"
    found = baselines.load(times)
    write(folder / "mine.json", found)
    assert baselines.troubles(folder / "mine.json") == [
        f"mine.json should be called {times.name} after what it holds."
    ]
    write(times, replace(found, fingerprint="0" * 16))
    assert "fingerprint of another machine" in baselines.troubles(times)[0]
    old = replace(found.rows[0], identity="f" * 12)
    write(times, baselines.sealed(replace(found, rows=[old])))
    assert baselines.troubles(times) == [
        f"{times.name} is out of date, 1 of its 1 rows are measured in another way today: {old.name}."
    ]
    unknown = replace(found.rows[0], case=replace(row().case, workload="jazz"))
    write(times, baselines.sealed(replace(found, rows=[unknown])))
    assert "is out of date" in baselines.troubles(times)[0]
    write(times, replace(found, accepted=[]))
    assert "has no record of acceptance" in baselines.troubles(times)[0]


def test_a_baseline_that_was_edited_by_hand_is_refused(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accept(tmp_path, measured(today(name="a"), today(name="b")))
    path = folder / COUNTS
    accepted = json.loads(path.read_bytes())
    assert bench("baseline", "check") == 0

    def edited(change: Callable[[Any], Any]) -> dict[str, Any]:
        document = json.loads(json.dumps(accepted))
        change(document)
        return document

    a = {**accepted["rows"][0]}
    for change in (
        lambda found: found["rows"][0]["counters"].update(equations=154),
        lambda found: found["rows"][0].update(checksum="f" * 16),
        lambda found: found["rows"].pop(),
        lambda found: found["rows"].append({**a, "name": "c"}),
        lambda found: found["rows"].append(a),
        lambda found: found["accepted"][0].update(rows=["a"]),
        lambda found: found["accepted"][0].pop("digest"),
    ):
        path.write_text(json.dumps(edited(change)), encoding="utf-8")
        capsys.readouterr()
        assert bench("baseline", "check") == 23
        sentence = f"{path} is damaged: its rows are not those that were accepted, so it was edited"
        assert sentence in capsys.readouterr().out
        for command in (
            ("diff", tmp_path / "r.json"),
            ("count", "--only", "numpy-single"),
            ("baseline", "show"),
        ):
            assert bench(*command) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert sentence in line
    # The form of the file does not matter.
    path.write_text(json.dumps(accepted, indent=7, sort_keys=True), encoding="utf-8")
    assert bench("baseline", "check") == 0


def test_digests_follow_the_rows_of_their_records(tmp_path: Path, folder: Path) -> None:
    accept(tmp_path, measured(today(name="a"), today(name="b")))
    (before,) = baselines.load(folder / COUNTS).accepted
    accept(tmp_path, measured(today(name="b", counters={"flops": 9})), "second")
    first, second = baselines.load(folder / COUNTS).accepted
    assert len({before.digest, first.digest, second.digest}) == 3
    accept(tmp_path, measured(today(name="b")), "third")
    assert baselines.load(folder / COUNTS).accepted[0].digest == first.digest


def compared(verdict: str = "slower", setting: str = "", **changes: Any) -> Result:
    """The result of an A/B."""
    against = Against(revision="main", sha="b" * 40, head="a" * 40, setting=setting)
    configuration = replace(PLAN, suite="ab", against=against)
    rows = [
        today(name="x", ab=paired(1.2, verdict, **changes)),
        today(name="y", ab=paired()),
    ]
    return measured(*rows, configuration=configuration)


def test_a_confirmed_slowdown_is_accepted_with_its_limit(tmp_path: Path, folder: Path) -> None:
    (path,) = accept(tmp_path, compared(), "safer").written
    assert path.name == "slowdowns.json"
    found = baselines.load(path)
    assert isinstance(found, Slowdowns)
    assert [(one.name, one.limit) for one in found.rows] == [("x", pytest.approx(1.2 * 1.02))]
    assert [(one.reason, one.rows) for one in found.accepted] == [("safer", ["x"])]
    assert baselines.troubles(path) == []
    assert baselines.described(path, measured().system)[1:3] == ["slowdowns of 1 case", "fits"]
    assert baselines.committed().is_empty, "no time is compared with it"
    path.write_text(path.read_text(encoding="utf-8").replace("1.22", "9.22"), encoding="utf-8")
    assert "is damaged" in baselines.troubles(path)[0]


@pytest.mark.parametrize("found", [compared("same"), compared(confirmed=False), compared(setting="NPROC=2")])
def test_only_a_confirmed_slowdown_of_the_code_is_accepted(
    tmp_path: Path, folder: Path, found: Result
) -> None:
    with pytest.raises(UsageError, match="it has no confirmed slowdown"):
        accept(tmp_path, found)
    assert not list(folder.iterdir())


def test_the_list_says_what_fits(tmp_path: Path) -> None:
    accept(tmp_path, measured(today(), today(name="b", mode="numpy-batch")), "why not")
    here = measured().system
    lines = [baselines.described(path, here) for path in baselines.files()]
    assert [line[1:3] for line in sorted(lines, key=lambda line: line[1])] == [
        ["counters of 1 case", "fits"],
        ["counters of 1 case", "fits"],
        ["times of 2 cases", "fits"],
    ]
    assert lines[0][4:] == ["3fabcf2000", "why not"]
    other = replace(here, cpu="another", jaxlib="9", numpy="9")
    assert {baselines.described(path, other)[2] for path in baselines.files()} == {
        "not comparable: other cpu and numpy and jaxlib",
        "not comparable: counted for jaxlib 0.10.2, platform cpu",
        "not comparable: counted for numpy 2.4.0, python 3.11",
    }


def test_the_committed_baselines_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "FOLDER", ROOT / "bench" / "baselines")
    for path in baselines.files():
        baselines.load(path)
        assert path.name == baselines.file_name(baselines.load(path))


def test_the_bench_sessions_install_the_versions_that_the_committed_counters_belong_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(baselines, "FOLDER", ROOT / "bench" / "baselines")
    lines = (ROOT / "ci" / "constraints" / "bench.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    keys = [one.key for one in map(baselines.load, baselines.files()) if isinstance(one, CounterSet)]
    assert {key["numpy"] for key in keys if "numpy" in key} == {pinned["numpy"]}
    assert {key["jaxlib"] for key in keys if "jaxlib" in key} == {pinned["jaxlib"]} == {pinned["jax"]}


def test_files_are_json_with_a_line_for_each_value(tmp_path: Path, folder: Path) -> None:
    accept(tmp_path, measured(today()))
    text = (folder / COUNTS).read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("key", [{"python": "3.11"}, {"numpy": "2.4.0"}, {"platform": "cpu"}, {"x": "y"}])
def test_counters_of_no_versions_are_refused(tmp_path: Path, key: dict[str, str]) -> None:
    file = ROOT / "bench" / "baselines" / COUNTS
    path = tmp_path / "counters.json"
    path.write_text(json.dumps(json.loads(file.read_bytes()) | {"key": key}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"its key names no versions .*\.$"):
        baselines.load(path)
    assert baselines.troubles(path) == [
        f"{path} is damaged: its key names no versions that counters depend on."
    ]


def test_a_long_schema_version_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"schema": list(range(999))}), encoding="utf-8")
    with pytest.raises(UsageError, match="schema version") as caught:
        baselines.load(path)
    assert len(str(caught.value)) < len(str(path)) + 200
