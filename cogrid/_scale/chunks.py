"""How many steps a scan runs before it returns to Python."""

from __future__ import annotations

#: At most so many environments on a device, and the steps of a scan over them.
_LIMITS = ((10_000, 256), (100_000, 64), (1_000_000, 16))
_FOR_MORE = 8


def chunk_for(num_envs: int) -> int:
    """The steps of a scan over so many environments of one device.

    Longer scans return to Python less often, but take more memory for actions and trajectories, and longer
    until they can be interrupted. With more environments a call has more work, so fewer steps are enough.
    """
    return next((steps for most, steps in _LIMITS if num_envs <= most), _FOR_MORE)
