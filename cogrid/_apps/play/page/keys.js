// Keys and touch: which key is whose action, and what is held down.

import { at, make } from "./dom.js";
import { state } from "./state.js";
import { press as pressInReplay } from "./viewer.js";

const MOVES = { w: "up", s: "down", a: "left", d: "right" };
const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const SIGNS = { up: "▲", down: "▼", left: "◀", right: "▶", interact: "●", noop: "wait", toggle: "toggle" };

const held = new Map();  // agent -> actions whose keys are down, the latest last
let act = null, pause = null;

export function start(send) {
  act = (agent, action) => send({ do: "act", agent, action });
  pause = () => send({ do: "pause", paused: !state.game.paused });
  addEventListener("keydown", down);
  addEventListener("keyup", up);
  addEventListener("blur", letGo);
}

export const letGo = () => held.clear();

// Held keys act again in every step.
export function repeat() {
  for (const [agent, actions] of held) {
    if (actions.length && state.game.speed && !state.frame.over) act(agent, actions.at(-1));
  }
}

// The actions that neither walk nor wait, the main one first.
function uses() {
  const walks = ["noop", ...Object.values(MOVES)];
  const found = state.game.actions.filter((name) => !walks.includes(name));
  const main = found.includes("interact") ? "interact" : found.find((name) => name !== "toggle") ?? found[0];
  return found.length ? [main, ...found.filter((name) => name !== main)] : [];
}

// Key -> action. Two players have digits from either end of the row, which never overlap.
function keysOf(mainKey, toggleKey, digits) {
  const [main, ...more] = uses(), keys = new Map(main === undefined ? [] : [[mainKey, main]]);
  for (const [number, name] of more.entries()) {
    const key = name === "toggle" ? toggleKey : digits[number];
    if (key) keys.set(key, name);
  }
  return keys;
}

const firstKeys = () => keysOf("Space", "Q", state.game.people.length > 1 ? "12345" : "1234567890");
const secondKeys = () => keysOf("Enter", "L", "09876");

// The first player's key for an action, or the action where it has none.
export function keyOf(action) {
  return [...firstKeys()].find(([, name]) => name === action)?.[0] ?? action;
}

// Whose keys are whose, as elements.
export function hint() {
  const kbd = (name) => make("kbd", name), [first, second] = state.game.people;
  const own = (keys) => [...keys].flatMap(([key, name]) => [", ", kbd(key), `: ${name}`]);
  if (second === undefined) return [kbd("← ↑ ↓ →"), " or ", kbd("W A S D"), " move", ...own(firstKeys())];
  const line = (...parts) => {
    const found = make("span", "", "line");
    found.append(...parts);
    return found;
  };
  return [
    line(`Player ${first + 1}: `, kbd("W A S D"), " move", ...own(firstKeys())),
    line(`Player ${second + 1}: `, kbd("← ↑ ↓ →"), " move", ...own(secondKeys())),
  ];
}

// The agent and the action that a key is for.
function meaning(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const [first, second] = state.game.people, name = { " ": "Space", e: "Space", Enter: "Enter" }[key] ?? key.toUpperCase();
  if (key in MOVES) return [first, MOVES[key]];
  if (key in ARROWS) return [second ?? first, ARROWS[key]];
  if (firstKeys().has(name)) return [first, firstKeys().get(name)];
  if (secondKeys().has(name)) return [second ?? first, secondKeys().get(name)];
  if (key === "x") return [first, "noop"];
  if (key === ".") return [second ?? first, "noop"];
  return null;
}

function press(agent, action) {
  if (agent === undefined || !state.game.actions.includes(action)) return;
  held.set(agent, [...(held.get(agent) || []).filter((other) => other !== action), action]);
  act(agent, action);
}

function release(agent, action) {
  held.set(agent, (held.get(agent) || []).filter((other) => other !== action));
}

// Keys that are for what has the focus, or for the browser.
const elsewhere = (event) =>
  event.target.closest("select, input, button, a, summary") || event.ctrlKey || event.metaKey || event.altKey;

function down(event) {
  if (event.key === "Escape") return document.activeElement.blur();  // the keys play again
  if (!state.game || elsewhere(event)) return;
  if (state.film) return pressInReplay(event);
  if (event.key.toLowerCase() === "p") return pause();
  const found = meaning(event);
  if (!found) return;
  event.preventDefault();
  if (!event.repeat) press(...found);
}

function up(event) {
  const found = state.game && !state.film && meaning(event);
  if (found) release(...found);
}

// The buttons on a phone; a screen reader clicks them.
export function pads() {
  const { people, actions } = state.game, wanted = JSON.stringify([people, actions]);
  if (at("pads").dataset.wanted === wanted) return;
  at("pads").dataset.wanted = wanted;
  at("pads").replaceChildren(...people.map((agent) => {
    const pad = make("div", "", "pad"), main = uses()[0];
    pad.append(...actions.map((action) => button(agent, action, action === main)));
    return pad;
  }));
}

function button(agent, action, isMain) {
  const kind = isMain ? "interact" : action in SIGNS ? action : "own";
  const found = make("button", SIGNS[action] ?? action, isMain ? `${kind} main` : kind);
  found.type = "button";
  found.setAttribute("aria-label", `player ${agent + 1}: ${action}`);
  found.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    press(agent, action);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) found.addEventListener(end, () => release(agent, action));
  found.addEventListener("click", (event) => { if (!event.detail) act(agent, action); });  // without a pointer
  found.addEventListener("contextmenu", (event) => event.preventDefault());
  return found;
}
