"""Who plays: policies by name, from a file or from the zoo, and the scripts of the families."""

from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.foraging.policies import ScriptedForagers
from cogrid.envs.goals.policies import ScriptedWalkers
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.search_rescue.policies import ScriptedRescuers
from cogrid.policies.named import policy_of, usual_policy
from cogrid.policies.pairs import CrossPlay, crossplay
from cogrid.policies.policy_file import PolicyFile
from cogrid.policies.policy_file import load as load_policy
from cogrid.policies.policy_file import save as save_policy

__all__ = (
    "CrossPlay",
    "PolicyFile",
    "ScriptedCooks",
    "ScriptedForagers",
    "ScriptedPlayers",
    "ScriptedRescuers",
    "ScriptedWalkers",
    "crossplay",
    "load_policy",
    "policy_of",
    "save_policy",
    "usual_policy",
)
