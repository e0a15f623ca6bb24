"""A setting of an A/B: an environment variable, a flag of XLA or an option of the environments."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, NamedTuple

from cogrid.benchmarks.case import Case


class Setting(NamedTuple):
    """A setting that head has and base does not."""

    name: str
    value: Any
    text: str  # as it was given

    @property
    def is_option(self) -> bool:
        """Whether it changes the environments, so that the two play different games."""
        return bool(self.name) and not (self.is_flag or self.name.isupper())

    @property
    def is_flag(self) -> bool:
        return self.name.lstrip("-").startswith("xla_")

    @property
    def env(self) -> dict[str, str]:
        """The environment variables of head's processes."""
        if self.is_flag:
            flags = [os.environ.get("XLA_FLAGS", ""), f"--{self.text.lstrip('-')}"]
            return {"XLA_FLAGS": " ".join(filter(None, flags))}
        return {self.name: self.text.partition("=")[2]} if self.text and not self.is_option else {}

    def applied(self, case: Case) -> Case:
        if not self.is_option:
            return case
        options = {**dict(case.options), self.name: self.value}
        return dataclasses.replace(case, options=tuple(sorted(options.items())))


NONE = Setting("", None, "")
