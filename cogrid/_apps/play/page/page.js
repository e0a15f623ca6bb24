// The page: messages of the game come in, and everything is drawn anew.

import * as board from "./board.js";
import * as cover from "./cover.js";
import { at } from "./dom.js";
import * as keys from "./keys.js";
import * as log from "./log.js";
import * as menus from "./menus.js";
import { connect } from "./socket.js";
import { state } from "./state.js";
import * as viewer from "./viewer.js";

let lost = false;  // whether no game runs

export function receive(message) {
  lost = false;
  if (message.kind === "error") {
    at("error").textContent = message.words;
    if (state.game) menus.draw();
    return;
  }
  if (message.kind === "game") {
    state.game = message;
    menus.draw();
  }
  if (message.kind === "frame") {
    viewer.leave();
    log.hear(message);
    state.frame = message;
    board.learn(message.sprites);
    keys.repeat();
  }
  if (message.kind === "film") {
    viewer.show(message);
    board.learn(message.sprites);
  }
  draw();
}

function draw() {
  const { game, frame, film, moment } = state;
  if (!film && !frame) return;
  if (board.build()) log.build();
  board.paint(film ? film.views[moment] : frame.views);
  const time = film ? film.times[moment] : frame.time, { max } = film || game;
  at("score").textContent = film ? film.scores[moment] : frame.score;
  at("time").textContent = time;
  at("max").textContent = `/${max}`;
  at("progress").value = time / max;
  at("pads").hidden = at("pause").disabled = Boolean(film);
  at("pause").textContent = !game.paused ? "Pause" : frame?.time ? "Resume" : "Start";
  viewer.draw();
  log.draw();
  if (!lost) cover.draw(run.send);
}

function lose(headline, hint) {
  lost = true;
  keys.letGo();
  cover.cover(headline, hint);
}

const run = connect(receive, lose);
keys.start(run.send);
menus.start(run);
viewer.start(run.send, draw);
addEventListener("resize", board.fit);
