"""Lines of a campaign's log, made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.compare.ab_statistics import FIRST_PAIRS, ROUNDS
from bench.experiments.campaign import CampaignRun
from tests.bench.support import built

NAMES = ("one", "two", "three")


def run(seed: int, noise: float = 0.01, drift: float = 0.0, **changes: Any) -> CampaignRun:
    """A run in which every process has its own speed, and the machine changes by `drift` between pairs."""
    draw = np.random.default_rng(seed)
    cases = {}
    for name in NAMES:
        paces = np.exp(draw.normal(0, drift, (FIRST_PAIRS, 1, 1)))
        rounds = 1e6 * paces * np.exp(draw.normal(0, noise, (FIRST_PAIRS, ROUNDS, 2)))
        cases[name] = {
            "verdict": "same",
            "ratio": 1.0,
            "low": 0.99,
            "high": 1.01,
            "smallest": 0.06,
            "confirmed": False,
            "first": rounds.round().astype(int).tolist(),
            "second": [],
        }
    facts = {
        "kind": "A/A",
        "factor": 1.0,
        "hog": 0.5,
        "runs": 20,
        "slowed": None,
        "sha": "0" * 40,
        "fingerprint": "f" * 16,
        "seconds": 60.0,
        "cases": cases,
    }
    return built(facts | changes, CampaignRun)
