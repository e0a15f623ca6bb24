"""The command `python -m cogrid zoo`: the names of the trained policies that come with the package."""

from __future__ import annotations

import argparse

from cogrid.envs.registry import spec_of
from cogrid.policies import policy_file, zoo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to a parser."""
    parser.description = (
        "List the trained policies that come with the package: name, mean return per episode of self-play, "
        "training steps, observation. `play --partner`, `render --policy` and `crossplay --players` take "
        "their names."
    )
    parser.add_argument("id", metavar="ID", nargs="?", help="only those of one environment")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the zoo's policies, of one environment or of all, with their scores."""
    if not (names := zoo.names(options.id)):
        spec_of(options.id, {})  # explains an unknown id
        raise ValueError(
            f"the zoo has no policies for {options.id}: `python -m cogrid zoo` lists what it has."
        )
    print(f"{'policy':36} {'return':>7} {'steps':>8}  observation")
    for name in names:
        policy = policy_file.load(zoo.find(name))
        score, steps = policy.about["score"], policy.about["options"]["steps"]
        print(f"{name:36} {score:7.1f} {steps / 1e6:6.1f} M  {policy.observation}")
