"""Loops of the peers, compiled for a GPU and not run, where there is a compiler."""

from __future__ import annotations

import pytest

from bench.exit_codes import NoDevice
from bench.measure.gpu import targets
from tests.bench.peers.test_compiled import STEPS, drawn
from tests.support import HAS_JAX

pytestmark = pytest.mark.skipif(not HAS_JAX, reason="is about JAX")


def test_without_a_compiler_the_reason_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.peers.modelled import modelled

    monkeypatch.setattr(targets, "version_of", lambda name: None)
    with pytest.raises(NoDevice, match="there is no compiler for GPUs here"):
        modelled(drawn(), STEPS)


def test_a_compiled_loop_has_a_modelled_speed_and_is_not_run() -> None:
    from bench.peers.modelled import modelled

    try:
        targets.installed()
    except NoDevice:
        pytest.skip("needs a compiler for GPUs: nox -s gpu-compile")
    speeds = [modelled(drawn(), steps)()["value"] for steps in (STEPS, 2 * STEPS)]
    assert 0 < speeds[0] < STEPS / (STEPS * 1.5e-6), "every step starts one kernel or more"
    assert speeds[1] == 2 * speeds[0]
