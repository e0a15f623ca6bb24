"""Start a side: python -m bench.rivals NAME JOB."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from bench.rivals.protocol import Job, Prepared, serve


def main() -> None:
    """The module is imported by the side itself, so that a missing library is a reason and not a crash."""
    name, job = sys.argv[1:]

    def prepare(job: Job) -> Prepared:
        prepared: Prepared = import_module(f"bench.rivals.{name}").prepare(job)
        return prepared

    serve(prepare, json.loads(job))


if __name__ == "__main__":
    main()
