// What the page shows: the newest messages of the game, and the place in a replay.

export const state = {
  game: null,  // the board, the people, the menus' choices
  frame: null,  // the board now, with its score and time
  film: null,  // a replay, which is shown instead
  moment: 0,  // the step of the replay
};

// The message that says what the board is like.
export const board = () => state.film || state.game;
