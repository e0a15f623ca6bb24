"""The conformance check that every environment passes, and shadows, which compare the backends at work."""

from cogrid._env.shadow import Shadow, ShadowReport
from cogrid.testing.conformance import check_env

__all__ = ("Shadow", "ShadowReport", "check_env")
