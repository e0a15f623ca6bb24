"""The JSON Schema of the files, derived from the records: python -m bench.storage.schema writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from bench.records import Result
from bench.storage.baselines import CounterSet, Slowdowns

FILE = Path(__file__).parent / "schema.json"


def schema() -> dict[str, Any]:
    """A result file; committed counters are #/$defs/CounterSet, accepted slowdowns #/$defs/Slowdowns."""
    (result, *_), definitions = msgspec.json.schema_components(
        [Result, CounterSet, Slowdowns], ref_template="#/$defs/{name}"
    )
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **result, "$defs": definitions}


def text() -> str:
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
