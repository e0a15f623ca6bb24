// The viewer of replays: steps, a slider, and playing on.

import { at, click } from "./dom.js";
import { state } from "./state.js";

let timer = null, redraw = null;
const last = () => state.film.views.length - 1;

export function start(send, draw) {
  redraw = draw;
  at("moment").addEventListener("input", (event) => jump(Number(event.target.value)));
  click("first", () => jump(0), true);
  click("back", () => jump(state.moment - 1), true);
  click("on", () => jump(state.moment + 1), true);
  click("last", () => jump(last()), true);
  click("run", run, true);
  click("leave", () => send({ do: "leave" }));
}

export function show(film) {
  state.film = film;
  state.moment = 0;
  at("moment").max = last();
}

export function leave() {
  stop();
  state.film = null;
}

export function draw() {
  at("viewer").hidden = !state.film;
  at("moment").value = state.moment;
  at("run").textContent = timer ? "Pause" : "Play";
}

export function go(to) {
  state.moment = Math.max(0, Math.min(last(), to));
  if (state.moment === last()) stop();
  redraw();
}

export function press(event) {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (by) jump(state.moment + by);
  if (event.key === " ") run();
  if (by || event.key === " ") event.preventDefault();
}

function jump(to) {
  stop();
  go(to);
}

function stop() {
  clearInterval(timer);
  timer = null;
}

function run() {
  if (timer) {
    stop();
    return redraw();
  }
  if (state.moment === last()) state.moment = 0;
  timer = setInterval(() => go(state.moment + 1), 1000 / (Number(at("speed").value) || 5));
  redraw();
}
