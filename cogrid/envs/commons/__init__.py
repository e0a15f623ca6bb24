"""Commons: social dilemmas around apples that grow back only if players look after them."""

from cogrid.envs.commons.figures import figures

__all__ = ("figures",)
