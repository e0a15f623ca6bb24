// The words over the board, while the game waits.

import { at, make } from "./dom.js";
import { hint } from "./keys.js";
import { restart } from "./menus.js";
import { say } from "./log.js";
import { state } from "./state.js";

export function cover(headline, words = [], button = null) {
  const inside = at("cover").firstElementChild;
  if (headline && at("headline").textContent !== headline) say(headline);
  at("headline").textContent = headline;
  at("hint").replaceChildren(...[].concat(words));
  inside.querySelector("button")?.remove();
  if (button) inside.append(button);
  at("cover").hidden = !headline;
}

export function draw(send) {
  const { game, frame } = state;
  if (state.film || !(frame.over || game.paused)) return cover("");
  if (frame.over) {
    const scores = frame.score.split(" ").map((points, agent) => `player ${agent + 1} ${points}`);
    const end = scores.length > 1 ? `Finished: ${scores.join(", ")}` : `Finished with ${frame.score}`;
    return cover(end, "You can save a replay of the whole episode.", button("Play again", () => restart(send)));
  }
  const begins = frame.time === 0;
  if (!game.people.length) {
    const resume = button(begins ? "Begin" : "Resume", () => send({ do: "pause", paused: false }));
    return cover(begins ? "Watch" : "Paused", [], resume);
  }
  const touch = matchMedia("(pointer: coarse)").matches, how = touch ? "Touch the controls" : "Press a key";
  cover(begins ? `${how} to begin` : `Paused: ${how.toLowerCase()} to resume`, touch ? [] : hint());
}

function button(words, action) {
  const found = make("button", words, "main");
  found.onclick = action;
  return found;
}
