"""Training: what is stopped and resumed ends as if it had not been, and its parts do what they say."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests._io.interrupts import stopped_at, unread
from tests.support import BACKENDS, HAS_JAX, full_disk

if not HAS_JAX:
    pytest.skip("JAX is not installed", allow_module_level=True)

import jax

import cogrid
from cogrid.__main__ import main as cogrid_main
from cogrid._apps.train import checkpoints, command, evaluation, loop
from cogrid._apps.train.learner import Batch, Learner, Recorded, Run, Steps
from cogrid._apps.train.options import Options, usual_observation
from cogrid._apps.train.settings import SETTINGS
from cogrid._apps.train.varying import varying
from cogrid._scale.placement import place
from cogrid.envs import registry
from cogrid.policies import policy_file
from cogrid.policies.named import file_of, policy_of
from cogrid.replay import tapes
from cogrid.replay.recording import Replay

SMALL = (
    *("--steps", "96", "--num-envs", "4", "--num-steps", "8", "--chunk", "1", "--seeds", "2"),
    *("--hidden", "8", "--epochs", "2", "--minibatches", "2"),
)


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Optax, and a bias that is added to a batch, rely on promotion; a test's stderr does not last."""
    monkeypatch.setattr(command, "show_progress", lambda: None)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three chunks that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        assert main([*SMALL, "--out", str(out)]) == 0
    return out


def main(arguments: list[str]) -> int:
    return cogrid_main(["train", *arguments])


def arrays(out: Path) -> dict[str, Any]:
    with np.load(out / "checkpoint.npz") as file:
        return {name: file[name] for name in file.files if name != "meta"}


def stop_after(monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    """As if Ctrl-C were pressed when so many checkpoints are there."""
    save, saved = checkpoints.save, []

    def counted(*arguments: Any) -> None:
        if len(saved) == chunks:
            raise KeyboardInterrupt
        saved.append(save(*arguments))

    monkeypatch.setattr(checkpoints, "save", counted)


def test_a_resumed_run_ends_like_one_that_was_never_stopped(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        assert main([*SMALL, "--out", str(tmp_path)]) == 130
    assert f"--out {tmp_path} --resume" in capsys.readouterr().err
    stopped, expected = arrays(tmp_path), arrays(whole)
    assert any((stopped[name] != expected[name]).any() for name in expected)
    assert main(["--out", str(tmp_path), "--resume"]) == 0
    resumed = arrays(tmp_path)
    assert resumed.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name, strict=True)
    ours, theirs = (
        json.loads((out / "results.json").read_text(encoding="utf-8")) for out in (tmp_path, whole)
    )
    times = {"training_seconds": 0, "steps_per_second": 0}
    assert ours["steps_per_second"] > 0
    assert ours | times == theirs | times


def test_a_run_leaves_its_results(whole: Path) -> None:
    results = json.loads((whole / "results.json").read_text(encoding="utf-8"))
    assert results["steps"] == 96
    assert np.shape(results["curve"]) == (3, 2)
    assert np.mean(results["score"]["by_seed"]) == pytest.approx(results["score"]["mean"])
    assert (whole / "curve.png").read_bytes().startswith(b"\x89PNG")
    speeds = (whole / "speed.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split(",")[:2] for line in speeds] == [["1", "64"], ["2", "64"], ["3", "64"]]
    replay = Replay.load(whole / "episode.replay.json.gz")
    replay.verify("numpy")
    assert len(replay) == 400


def test_a_checkpoint_plays_as_a_partner_without_jax(whole: Path) -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0")
    env.reset(seed=0)
    actions = policy_of(str(whole / "policy-1.npz"), env.rules)(env.env_state)
    assert list(actions) == [0, 1]
    assert all(env.action_space(agent).contains(action) for agent, action in actions.items())


def test_a_kill_while_saving_leaves_the_checkpoint_before(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(before := (whole / "checkpoint.npz").read_bytes())

    def killed(file: Any, **_: Any) -> None:
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", killed)
    options, past, *_ = checkpoints.load(path)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(path, options, Run(*[np.zeros(1)] * 6), past)
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {path.name, "checkpoint.previous.npz"}
    assert (tmp_path / "checkpoint.previous.npz").read_bytes() == before


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_later(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        assert main([*SMALL, "--out", str(tmp_path)]) == 130
    before = (tmp_path / "checkpoint.npz").read_bytes()
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "save", full_disk(1000)(checkpoints.save))
        assert main(["--out", str(tmp_path), "--resume"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.endswith(f": {tmp_path / 'checkpoint.npz'}: File too large.")
    assert (tmp_path / "checkpoint.npz").read_bytes() == before
    saved = {"checkpoint.npz", "checkpoint.previous.npz", "speed.csv"}
    assert {one.name for one in tmp_path.iterdir()} == saved
    assert main(["--out", str(tmp_path), "--resume"]) == 0
    assert (tmp_path / "results.json").is_file()
    assert len((tmp_path / "speed.csv").read_text(encoding="utf-8").splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "already holds a run: add --resume"),
        (
            ("--resume", "--gamma", "0.5"),
            "gamma was 0.99 when this run started and cannot be changed to 0.5.",
        ),
        (
            ("--resume", "--seeds", "3"),
            "seeds was 2 when this run started and cannot be changed to 3.",
        ),  # the default
        (("--resume", "--out", "nowhere"), "there is no checkpoint in nowhere: start without --resume."),
        (("--out", "new", "--num-envs", "6"), "num_envs 6 cannot be split into 16 minibatches."),
        (
            ("--out", "new", "--devices", "3", "--seeds", "2"),
            "cannot be split into 16 minibatches on each of 3 devices.",
        ),
        (("--out", "new", "--devices", "16", "--num-envs", "256"), "devices is 16, but JAX has 4."),
        (("--out", "new", "--join", "here:1"), "--join takes no values, or three: the address of process 0,"),
        (("--out", "new", "--seeds", "0"), "seeds is 0, but must be from 1 to 10000."),
        (("--out", "new", "--first-seed", "1e30"), "first_seed is 1"),
        (("--out", "new", "--hidden", "1e12"), "hidden is 1000000000000, but must be from 1 to 32768."),
        (("--out", "new", "--chunk", "1e18"), "chunk is 1000000000000000000, but must be from 1 to 1000000."),
        (("--out", "new", "--join", "h:99999", "2", "0"), "address='h:99999' has a port above 65535."),
        (("--out", "new", "--steps", "1.5"), "'1.5' is not a whole number"),
        (("--out", "new", "--steps", "inf"), "'inf' is not a whole number"),
        (("--out", "new", "--gamma", "7"), "gamma is 7.0, but must be from 0 to 1."),
        (("--out", "new", "--clip", "-1"), "clip is -1.0, but must be at least 0."),
        (("--out", "new", "--learning-rate", "nan"), "learning_rate is nan, but must be finite."),
        (("--out", "new", "Arina-V0"), "unknown environment id 'Arina-V0': did you mean 'Arena-V0'"),
        (("--out", "new", "--observation", "none"), "observation is 'none', but must be one of features,"),
        (("--out", "new", "--set", "cook_tim=5"), "has no option 'cook_tim' (did you mean 'cook_time'?)"),
        (("--out", "new", "--set", "max_steps=0"), "max_steps=0"),
        (("--out", "new", "--set", "backend=jax"), "has no option 'backend'"),
        (("--out", "new", "--set", "window=7"), "window is for --observation window: give both"),
        (
            ("--out", "new", "--set", "shaping=1"),
            "shaping is an option of training: write --shaping, not --set.",
        ),
        (
            ("--resume", "--set", "cook_time=5"),
            "set was {} when this run started and cannot be changed to {'cook_time': 5}.",
        ),
    ],
)
def test_a_mistake_gets_a_sentence_and_changes_nothing(
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(whole), *arguments])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def changed(whole: Path, path: Path, **changes: Any) -> None:
    """A checkpoint whose metadata say something else."""
    with np.load(whole / "checkpoint.npz") as file:
        content = dict(file)
    meta = json.loads(str(content["meta"]))
    options = meta["options"] | changes.pop("options", {})
    np.savez(path, **content | {"meta": np.array(json.dumps({**meta, "options": options, **changes}))})


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "text": lambda data: b"some text",
    "cut": lambda data: data[:-100],
    "flipped": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
    "another array": lambda data: npy(np.zeros(3)),
    "pickle": lambda data: npy(np.array([{}])),
}


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("kind", [*DAMAGED, "other options", "strange value"])
def test_a_damaged_checkpoint_gets_a_sentence(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = tmp_path / "checkpoint.npz"
    if kind in DAMAGED:
        path.write_bytes(DAMAGED[kind]((whole / "checkpoint.npz").read_bytes()))
    else:
        changed(whole, path, options={"more": 1} if kind == "other options" else {"steps": "many"})
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(tmp_path), "--resume"])
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert f"train: {path} is not a training checkpoint, or it is damaged (" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["cut", "flipped", "missing"])
def test_the_checkpoint_before_a_damaged_one_is_used(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path, previous = tmp_path / "checkpoint.npz", tmp_path / "checkpoint.previous.npz"
    previous.write_bytes((whole / previous.name).read_bytes())
    if kind != "missing":
        path.write_bytes(DAMAGED[kind]((whole / path.name).read_bytes()))
    assert main(["--out", str(tmp_path), "--resume"]) == 0
    sentence = f"Resuming from {previous.name}, after 2 chunks."
    told = [line for line in capsys.readouterr().err.splitlines() if line.endswith(sentence)]
    assert len(told) == (kind != "missing")
    assert all(line.startswith(f"{path} is not a training checkpoint, or it is damaged (") for line in told)
    expected = arrays(whole)
    for name, value in arrays(tmp_path).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name, strict=True)


def test_a_damaged_checkpoint_never_takes_the_place_of_a_good_one(whole: Path, tmp_path: Path) -> None:
    path, previous = tmp_path / "checkpoint.npz", tmp_path / "checkpoint.previous.npz"
    good = (whole / path.name).read_bytes()
    for damage in ("cut", "flipped", "text"):
        previous.write_bytes(good)
        path.write_bytes(DAMAGED[damage](good))
        checkpoints._keep_previous(path, previous)
        assert previous.read_bytes() == good
    path.write_bytes(good)
    previous.write_bytes(b"old")
    checkpoints._keep_previous(path, previous)
    assert previous.read_bytes() == good


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    with np.load(whole / path.name) as file:
        np.savez_compressed(path, **dict(file), more=np.zeros(2**24, np.uint8))
    with pytest.raises(checkpoints.CheckpointError, match=r"damaged \(ValueError\)"):
        checkpoints.load(path)


def test_a_checkpoint_does_not_choose_what_is_imported(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil, seen = tmp_path / "evil.py", tmp_path / "seen"
    evil.write_text(f"open({str(seen)!r}, 'w')", encoding="utf-8")
    for id in (f"{evil}", f"{evil}:SPEC"):
        changed(whole, tmp_path / "checkpoint.npz", options={"id": id})
        with pytest.raises(SystemExit) as stopped:
            main(["--out", str(tmp_path), "--resume"])
        assert stopped.value.code == 2
        assert "which has to be imported: name it on the command line." in capsys.readouterr().err
        assert not seen.exists()


def test_weights_that_become_infinite_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--out", str(tmp_path), "--learning-rate", "1e38"]) == 2
    assert "NaN or infinite; there is no checkpoint yet: try a lower" in capsys.readouterr().err
    assert not list(tmp_path.glob("policy-*.npz"))


def test_another_game_or_another_network_is_not_resumed(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(whole, tmp_path / "checkpoint.npz", spec="0" * 16)
    with pytest.raises(SystemExit) as stopped:
        main(["--out", str(tmp_path), "--resume"])
    assert stopped.value.code == 2
    assert "Overcooked-CrampedRoom-V0 has changed since the run in" in capsys.readouterr().err
    changed(whole, tmp_path / "checkpoint.npz", options={"hidden": 9})
    assert main(["--out", str(tmp_path), "--resume"]) == 2
    assert capsys.readouterr().err.endswith(": the checkpoint's arrays do not match its options.\n")


def test_nothing_is_resumed_before_the_first_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", interrupted)
    assert main([*SMALL, "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "\nStopped. There was no checkpoint yet.\n"


@pytest.mark.parametrize("other", [("--gamma", "0.5"), (), ("--resume",)])
def test_two_trainings_never_share_a_folder(
    other: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of two, the one that comes second stops with a sentence, whatever its options are."""
    out, started = tmp_path / "out", []

    def meanwhile(*arguments: Any) -> None:
        save(*arguments)
        if not started:
            started.append(True)
            if other != ("--resume",):  # as if the first had not saved anything yet
                (out / "checkpoint.npz").rename(tmp_path / "hidden")
            with pytest.raises(SystemExit) as stopped:
                main([*SMALL, *other, "--out", str(out)])
            assert stopped.value.code == 2
            if other != ("--resume",):
                (tmp_path / "hidden").rename(out / "checkpoint.npz")

    save = checkpoints.save
    monkeypatch.setattr(checkpoints, "save", meanwhile)
    assert main([*SMALL, "--out", str(out)]) == 0
    assert started
    assert f"another training is running in {out}: wait until it has ended" in capsys.readouterr().err
    assert checkpoints.load(out / "checkpoint.npz").options.gamma == 0.99
    assert not (out / command.LOCK).exists()


def test_a_training_that_ended_a_moment_ago_is_not_written_over(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextlib.contextmanager
    def late(path: Path) -> Iterator[None]:
        shutil.copy(whole / "checkpoint.npz", tmp_path)
        yield

    monkeypatch.setattr(command.files, "locked", late)
    with pytest.raises(SystemExit):
        main([*SMALL, "--gamma", "0.5", "--out", str(tmp_path)])
    assert "already holds a run: add --resume" in capsys.readouterr().err
    assert (tmp_path / "checkpoint.npz").read_bytes() == (whole / "checkpoint.npz").read_bytes()


def test_what_a_killed_training_leaves_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / command.LOCK).touch()
    stop_after(monkeypatch, 1)
    assert main([*SMALL, "--out", str(tmp_path)]) == 130
    (tmp_path / command.LOCK).touch()
    monkeypatch.undo()
    assert main(["--out", str(tmp_path), "--resume"]) == 0


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stopped:
        main([*SMALL, "--out", str(tmp_path / "file")])
    assert stopped.value.code == 2
    assert "file cannot be a folder: File exists." in capsys.readouterr().err


def test_every_seed_is_shown_with_the_best_and_those_that_did_not_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def scored(options: Options, networks: Any) -> tuple[Any, Any]:
        _, actions = evaluate(options, networks)
        return np.repeat([[2.6], [218.0]], 100, axis=1), actions

    evaluate = evaluation.evaluate
    monkeypatch.setattr(evaluation, "evaluate", scored)
    monkeypatch.setattr(evaluation, "random_play", lambda options: np.array([0.0, 1.0]))
    assert main([*SMALL, "--first-seed", "7", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"return -?\d+\.\d \(-?\d+\.\d, -?\d+\.\d\), ", err)
    assert "policy-7.npz: 2.6 ± 0.0 points per episode\n" in out
    assert "policy-8.npz: 218.0 ± 0.0 points per episode, the best\n" in out
    assert "Not learned by seed 7: random play scores 0.5." in out
    score = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["score"]
    assert (score["best_seed"], score["not_learned"], score["random"]) == (8, [7], 0.5)
    assert file_of(str(tmp_path)) == tmp_path / "policy-8.npz"


@pytest.mark.parametrize(
    ("means", "random", "expected"),
    [
        ([2.6, 218.0], 0.0, [False, True]),
        ([-49.0, -5.0], -50.0, [False, True]),
        ([100.0, 218.0], 0.0, [True, True]),
        ([0.5, 0.4], 0.5, [False, False]),  # both as good as random play
        ([-1.0], 0.0, [False]),
    ],
)
def test_learned_is_what_random_play_does_not_reach(
    means: list[float], random: float, expected: list[bool]
) -> None:
    points = np.repeat(np.reshape(means, (-1, 1)), 100, axis=1)
    noise = np.tile([-0.5, 0.5], 50)
    assert evaluation.learned(points, random + noise).tolist() == expected


def test_random_play_is_that_of_the_scored_game() -> None:
    still = Options("Overcooked-CrampedRoom-V0", set={"max_steps": 5})
    assert evaluation.random_play(still).shape == (100,)
    assert evaluation.random_play(Options("Foraging-8x8-2p-3f-V0")).mean() > 0


@pytest.mark.parametrize(
    "where",
    [
        *("numpy", "jax", "jax._src.compiler:compile_or_get_cached"),
        *(
            pytest.param(where, marks=pytest.mark.slow)
            for where in (
                *("equinox", "matplotlib.figure", "rich.progress"),
                "jax._src.interpreters.pxla:lower_sharding_computation",
            )
        ),
    ],
)
def test_ctrl_c_is_one_line_from_the_first_import_on(where: str, tmp_path: Path) -> None:
    words = ("-m", "cogrid", "train", *SMALL, "--out", str(tmp_path / "out"))
    done = stopped_at(tmp_path, where, *words)
    assert done.returncode == 130, done.stderr
    (line,) = done.stderr.split("\n")[1:-1]
    assert line in ("Interrupted.", "Stopped. There was no checkpoint yet.")
    assert done.stdout == ""


def test_a_reader_that_goes_away_is_no_matter(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "out")
    code, told = unread("-m", "cogrid", "train", "--out", str(tmp_path / "out"), "--resume")
    assert (code, told.strip()) == (141, "")
    assert unread("-m", "cogrid", "train", "--help")[1] == ""


def test_advantages_are_sums_of_discounted_errors() -> None:
    generator, (length, batch, agents) = np.random.default_rng(0), (5, 2, 2)
    rewards, values = generator.normal(size=(2, length, batch, agents)).astype(np.float32)
    last = generator.normal(size=(batch, agents)).astype(np.float32)
    done = np.array([[0, 0], [0, 1], [0, 0], [0, 0], [0, 0]], bool)
    rest = np.where(done[:, :, None], generator.normal(size=values.shape), 0).astype(np.float32)
    options = Options(reward_scale=0.25)
    learner = Learner.__new__(Learner)
    learner.options = options
    steps = Steps(None, None, None, values, rewards, rest, done, None)
    found = np.asarray(Learner.advantages(learner, steps, last))
    following = np.concatenate([values[1:], last[None]])
    goes_on = 1.0 - done[:, :, None]
    errors = 0.25 * rewards + options.gamma * (goes_on * following + rest) - values
    expected = np.zeros_like(errors)
    for t in range(length):
        weight = np.ones((batch, 1))
        for later in range(t, length):
            expected[t] += weight * errors[later]
            weight = weight * options.gamma * options.gae_lambda * goes_on[later]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("id", ["Overcooked-CrampedRoom-V0", "Goals-V0"])
def test_only_those_whom_the_clock_cuts_off_have_a_rest(id: str) -> None:
    """Nothing follows what an agent has ended itself, or an episode that goes on."""
    learner = Learner(Options(id=id, observation=usual_observation(id), num_envs=3, minibatches=1, hidden=8))
    run = jax.jit(learner.begin)(jax.numpy.int32(0))
    state, done = run.state, jax.numpy.array([True, True, False])
    if state.ended is not None:
        state = state.evolve(ended=state.ended.at[1, 0].set(True))
    values = np.array(run.network(learner.sight(run.obs))[1])
    assert (np.abs(values) > 1e-6).all()
    values[2] = 0
    if state.ended is not None:
        values[1, 0] = 0
    found = jax.jit(learner.rest)(run.network, state, run.obs, done)
    np.testing.assert_allclose(found, values, rtol=1e-5)
    np.testing.assert_array_equal(
        jax.jit(learner.rest)(run.network, state, run.obs, ~done & done), 0 * values
    )


def test_the_numbers_that_never_change_are_not_learned_from(tmp_path: Path) -> None:
    """A network has no inputs for them; its policy file takes all of them, with weights of 0."""
    assert main([*SMALL, "--observation", "lossless", "--out", str(tmp_path), "--shadow"]) == 0
    env = cogrid.make("Overcooked-CrampedRoom-V0", observation="lossless")
    weight, _ = policy_file.load(tmp_path / "policy-0.npz").layers[0]
    changing = varying(env.rules).ravel()
    assert weight.shape == (520, 8)
    assert not weight[~changing].any()
    np.testing.assert_array_equal(weight[changing], arrays(tmp_path)[".network.actor[0].weight"][0])


def test_the_tapes_of_a_run_score_what_it_says(whole: Path) -> None:
    recorded = tapes.load(whole / "tapes.npz")
    means = json.loads((whole / "results.json").read_text(encoding="utf-8"))["score"]["by_seed"]
    for backend in BACKENDS:
        points = recorded.replay(backend)
        np.testing.assert_array_equal(points, recorded.points, strict=True)
        np.testing.assert_allclose(points.mean(axis=1), means, rtol=1e-6)


def test_shaping_is_annealed_by_the_weight_in_the_state(whole: Path) -> None:
    """Half of the updates have shaping; the last one has none, whatever an episode's end brought."""
    assert (arrays(whole)[".state.weight"] == 0).all()


def test_a_finished_environment_begins_anew_and_keeps_its_weight() -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0", shaping=1.0, max_steps=3)
    state, obs = env.reset_fn(np.stack([env.reset(seed=s) and env.env_state.words for s in (0, 1)]))
    state = env.replace(state, time=[2, 0], shaping_weight=0.25)
    state, seen, _, done, _ = env.step_fn(state, np.zeros((2, 2), int))
    assert done.tolist() == [True, False]
    renewed, after = env.renew_fn(state, seen, done)
    assert renewed.time.tolist() == [0, 1]
    assert renewed.shaping_weight.tolist() == [0.25, 0.25]
    np.testing.assert_array_equal(after[0], obs[0])
    np.testing.assert_array_equal(after[1], seen[1])


def test_steps_that_numpy_plays_otherwise_are_exit_code_22(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A planted fault: the first chunk claims a reward that nobody earned. A stop and a resume keep it."""
    replay, chunks = loop.replay_on_numpy, []

    def faulty(shadow: Any, recorded: Recorded) -> None:
        chunks.append(1)
        rewards = np.array(recorded.rewards)  # (seeds, updates, T, B, n)
        rewards[1, 0, 3, 2, 0] += len(chunks) == 1
        replay(shadow, recorded._replace(rewards=rewards))

    told: list[str] = []
    monkeypatch.setattr(command, "show_progress", lambda: told.append("progress"))
    monkeypatch.setattr(loop, "replay_on_numpy", faulty)
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        with pytest.warns(RuntimeWarning, match="rewards is 1.0 on jax and 0.0 on numpy"):
            assert main([*SMALL, "--out", str(tmp_path), "--shadow"]) == command.MISMATCH
    assert told == ["progress"]
    out, err = capsys.readouterr()
    assert "124 comparisons, 1 mismatches; the first one in" in out  # the chunk that was not kept included
    assert f"--out {tmp_path} --resume" in err
    first = checkpoints.load(tmp_path / "checkpoint.npz").history.shadow
    assert (first.comparisons, first.mismatches, first.first.environment) == (60, 1, 6)
    assert main(["--out", str(tmp_path), "--resume", "--shadow"]) == command.MISMATCH
    out = capsys.readouterr().out
    assert f"188 comparisons, 1 mismatches; the first one in {first.first}." in out
    counts = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["shadow"]
    assert counts == {"comparisons": 188, "mismatches": 1}


def test_the_mean_of_gradients_is_the_gradient_of_all() -> None:
    """On two devices with half of the environments each; only the order of sums differs."""
    small = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "hidden": 8, "seeds": 1}
    one, two = (Learner(Options(devices=devices, **small)) for devices in (1, 2))
    run = jax.jit(one.begin)(jax.numpy.int32(0))
    _, _, steps, _ = jax.jit(one.play)(run.network, run.state, run.obs, jax.random.key(1))
    bonus = jax.numpy.float32(0.01)
    advantages = jax.random.normal(jax.random.key(2), steps.values.shape)
    batch = one.batch(steps, advantages)

    def gradient(learner: Learner, batch: Batch) -> Any:
        rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
        return learner.mean(jax.grad(learner.loss, has_aux=True)(run.network, bonus, rows)[0])

    there, whole = place(2, 4), jax.sharding.PartitionSpec()
    apart = there.on_each(partial(gradient, two), (there.spec(0),), whole)
    found, expected = jax.jit(apart)(batch), jax.jit(partial(gradient, one))(batch)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.abs(theirs).max() > 1e-6
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(("seeds", "comparisons"), [("1", 96), ("2", 192)])
def test_several_devices_play_what_numpy_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seeds: str, comparisons: int
) -> None:
    """They share the environments of one seed, or have a whole seed each."""
    assert main([*SMALL, "--seeds", seeds, "--devices", "2", "--out", str(tmp_path), "--shadow"]) == 0
    assert f"{comparisons} comparisons, 0 mismatches" in capsys.readouterr().out
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["shadow"] == {"comparisons": comparisons, "mismatches": 0}
    assert checkpoints.load(tmp_path / "checkpoint.npz").options.devices == 2


def test_seeds_on_devices_of_their_own_learn_what_they_learn_on_one(whole: Path, tmp_path: Path) -> None:
    assert main([*SMALL, "--devices", "2", "--out", str(tmp_path)]) == 0
    expected = arrays(whole)
    for name, value in arrays(tmp_path).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name, strict=True)


def test_cores_become_devices_where_they_are_wanted(tmp_path: Path) -> None:
    """In a process where JAX has not started; more than there are cores is a mistake."""
    for devices, code in ((2, 0), (4096, 2)):
        words = ["train", *SMALL, "--devices", str(devices), "--seeds", str(devices)]
        text = f"""
import os
os.cpu_count = lambda: 2
from cogrid.__main__ import main
import sys; sys.exit(main({[*words, "--out", str(tmp_path / str(devices))]!r}))"""
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=False, encoding="utf-8"
        )
        assert done.returncode == code, done.stderr
        assert ("devices is 4096, but JAX has" in done.stderr) == (code == 2)


def test_an_environment_has_settings_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come before the defaults, and after what is given."""
    ring, found = "Overcooked-CoordinationRing-V0", []
    monkeypatch.setattr(command, "train", lambda options, *_: found.append(options) or sys.exit(3))
    assert SETTINGS[ring]["entropy"] != Options.entropy
    assert set(SETTINGS) <= set(cogrid.registered())
    for given in ((), ("--entropy", "0.5")):
        with pytest.raises(SystemExit, match="3"):
            main([ring, *given, "--out", str(tmp_path)])
    usual = Options(id=ring, observation=usual_observation(ring), **SETTINGS[ring])
    assert found == [usual, dataclasses.replace(usual, entropy=0.5)]


def test_options_of_an_environment_add_to_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen, found = "Overcooked-CrampedRoom-V0", []
    monkeypatch.setattr(command, "train", lambda options, *_: found.append(options.set) or sys.exit(3))
    monkeypatch.setattr(command, "SETTINGS", {kitchen: {"set": {"max_steps": 200, "random_start": True}}})
    for given in ((), ("--set", "max_steps=50", "--set", "orders=[]")):
        with pytest.raises(SystemExit, match="3"):
            main([kitchen, *given, "--out", str(tmp_path)])
    usual = {"max_steps": 200, "random_start": True}
    assert found == [usual, {**usual, "max_steps": 50, "orders": []}]


def test_scores_are_of_the_game_that_is_learned_and_of_usual_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kitchen, its cooking and its agents are those of training; where episodes begin and end is not."""
    changes = {"layout": "CoordinationRing", "cook_time": 3, "max_steps": 20, "random_start": True}
    given = [part for item in changes.items() for part in ("--set", "=".join(map(str, item)))]
    given = [part.replace("True", "true") for part in given]
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        assert main([*SMALL, *given, "--out", str(tmp_path)]) == 130
    assert checkpoints.load(tmp_path / "checkpoint.npz").options.set == changes
    assert main(["--out", str(tmp_path), "--resume", *given[:4]]) == 0  # some may have come from the settings
    assert "with layout='CoordinationRing', cook_time=3: mean return " in capsys.readouterr().out
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["options"]["set"] == changes
    recorded = tapes.load(tmp_path / "tapes.npz")
    assert recorded.options == {"layout": "CoordinationRing", "cook_time": 3}
    assert recorded.actions.shape == (2, 100, 400, 2)
    np.testing.assert_array_equal(recorded.replay(), recorded.points)
    replay = Replay.load(tmp_path / "episode.replay.json.gz")
    replay.verify("numpy")
    env = cogrid.make(replay.id, **replay.overrides)
    assert (len(replay), env.spec.game.cook_time, env.spec.random_start) == (400, 3, False)
    learner = Learner(checkpoints.load(tmp_path / "checkpoint.npz").options)
    assert (learner.env.spec.max_steps, learner.env.spec.random_start, learner.episode) == (20, True, 400)


def test_any_world_can_be_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that knows neither soups nor shaping, seen through a window."""
    assert main(["Arena-V0", *SMALL, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Arena-V0: mean return 0.0 in 100 episodes" in out
    assert "No episode scored anything: random play may never reach a reward." in out
    env = cogrid.make("Arena-V0")
    env.reset(seed=0)
    assert list(policy_of(str(tmp_path / "policy-0.npz"), env.rules)(env.env_state)) == [0, 1, 2, 3]


def test_a_world_of_ones_own_is_learned_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(Path(cogrid.__file__).parents[1] / "examples/own_environment.py")
    assert main([own, *SMALL, "--seeds", "1", "--out", str(tmp_path)]) == 0
    assert f"{own}: mean return " in capsys.readouterr().out
    policy_of(str(tmp_path / "policy-0.npz"), cogrid.make(own).rules)


def test_a_world_is_seen_as_it_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    cogrid.register("Dark-V0", cogrid.make("Arena-V0", observation="none").spec)
    kinds = {"Overcooked-CrampedRoom-V0": "features", "Arena-V0": "window", "Dark-V0": "lossless"}
    assert {id: usual_observation(id) for id in kinds} == kinds


def test_the_extra_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("cogrid._apps.train")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cogrid._apps.train.options", None)
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "run pip install '.[train]' in the checkout." in capsys.readouterr().err


def test_the_return_of_episodes_that_end_early_is_that_of_their_length() -> None:
    """Only an end by the agents makes an episode shorter, not the time limit of training."""
    small = {"num_envs": 4, "minibatches": 1, "num_steps": 12, "hidden": 8}
    seen = usual_observation("Goals-V0")
    learner = Learner(Options(id="Goals-V0", observation=seen, set={"max_steps": 5}, **small))
    run = jax.jit(learner.begin)(jax.numpy.int32(0))
    state = run.state.evolve(
        ended=jax.numpy.array([[True, True], [True, False], [False, False], [True, True]]),
        clock=jax.numpy.array([3, 5, 5, 7], run.state.clock.dtype),
    )
    assert learner.episode == 100
    assert learner.lasted(state).tolist() == [3, 100, 100, 7]
    done = jax.numpy.array([[True, True, False, True]])
    steps = Steps(*[None] * 6, done=done, score=None, lasted=learner.lasted(state)[None])
    assert learner.length(steps) == pytest.approx((3 + 100 + 7) / 3)
    assert learner.length(steps._replace(done=~done & done)) == 100
    *_, played, _ = jax.jit(learner.play)(run.network, run.state, run.obs, jax.random.key(0))
    assert played.done.sum() >= 8  # after steps 5 and 10
    assert learner.length(played) > 50
    kitchen = Learner(Options(**small))
    assert kitchen.lasted(jax.jit(kitchen.begin)(jax.numpy.int32(0)).state) is None
    assert kitchen.length(steps._replace(lasted=None)) == kitchen.episode == 400


def test_a_world_without_a_score_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    file = tmp_path / "hints.py"
    file.write_text(HINTS, encoding="utf-8")
    with pytest.raises(SystemExit):
        main([str(file), *SMALL, "--out", str(tmp_path / "out")])
    assert f"{file} pays nothing but shaping" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


HINTS = """
from dataclasses import dataclass
from typing import ClassVar

import cogrid
from cogrid.author import Game, Outcome, Reward


@dataclass(frozen=True)
class Hints(Game):
    legend: ClassVar = {" ": "floor", "#": "wall", "b": "bell"}

    def interact(self, held, thing):
        return Outcome(held, thing, "ring") if thing == "bell" else None

    def rewards(self):
        return (Reward("hint", lambda event: event.verb == "ring", shaping=True),)


SPEC = cogrid.Spec(Hints(), "##b##\\n#1b2#\\n#####", max_steps=20)
"""
