"""lbforaging's own game in any of our states: injected, stepped and looked at, one transition at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from lbforaging.foraging.environment import ForagingEnv

#: Theirs: none, north, south, west, east, load; ours: up, down, left, right, noop, load.
THEIR_ACTION = (1, 2, 3, 4, 0, 5)


class Moment(NamedTuple):
    """All that is compared."""

    positions: Any  # (n, 2)
    levels: Any  # (n,)
    field: Any  # (rows, columns)
    vectors: Any  # (n, numbers)
    grids: Any  # (n, side, side, 3)
    rewards: Any = None  # (n,) float32
    done: Any = None


class Reference:
    """One environment of lbforaging with the options of a spec."""

    def __init__(self, spec: Any) -> None:
        game, self.n = spec.game, spec.num_agents
        self.env = ForagingEnv(
            players=spec.num_agents,
            min_player_level=game.min_player_level,
            max_player_level=game.max_player_level,
            min_food_level=game.min_food_level,
            max_food_level=game.max_food_level,
            field_size=(game.field_size,) * 2,
            max_num_food=game.max_num_food,
            sight=game.sight or game.field_size,
            max_episode_steps=spec.max_steps,
            force_coop=game.force_coop,
            normalize_reward=game.normalize_reward,
            observe_agent_levels=game.observe_agent_levels,
            penalty=game.penalty,
        )
        self.spaces = self.env.observation_space
        side = 2 * self.env.sight + 1
        # Theirs declares a grid's space by its number of planes alone, which Gymnasium refuses.
        grid = gymnasium.spaces.Box(0, 255, (3, side, side), np.float32)
        self.grid_spaces = gymnasium.spaces.Tuple((grid,) * self.n)

    def inject(self, positions: Any, levels: Any, field: Any, spawned: int, time: int) -> None:
        """Put the game into a state."""
        env = self.env
        env.field = np.array(field, np.int32)
        for player, position, level in zip(env.players, positions, levels, strict=True):
            player.setup(tuple(map(int, position)), int(level), env.field_size)
            player.reward = 0
        env._food_spawned, env.current_step, env._game_over = spawned, int(time), False
        env._gen_valid_moves()

    def step(self, actions: Any) -> Moment:
        """One of their steps, by our action numbers."""
        vectors, rewards, done, _, _ = self.env.step([THEIR_ACTION[action] for action in actions])
        moment = self.now()
        np.testing.assert_array_equal(moment.vectors, np.stack(vectors))
        return moment._replace(rewards=np.array(rewards, np.float32), done=bool(done))

    def now(self) -> Moment:
        """What is to be seen; both of their observations are of the same state."""
        env = self.env
        vectors = np.stack(env.test_make_gym_obs())
        env._grid_observation, env.observation_space = True, self.grid_spaces
        try:
            grids = np.moveaxis(np.stack(env.test_make_gym_obs()), 1, -1)
        finally:
            env._grid_observation, env.observation_space = False, self.spaces
        positions = np.array([player.position for player in env.players])
        return Moment(
            positions, np.array([player.level for player in env.players]), env.field.copy(), vectors, grids
        )

    def shares_a_cell(self) -> bool:
        """Whether two players are in one cell, which a mover brings about that enters the cell of one whose
        own move failed."""
        return len({player.position for player in self.env.players}) < self.n
