// Beside the board: how to play, the legend, and what happened, also for people who hear it.

import { at, make, picture } from "./dom.js";
import { keyOf } from "./keys.js";
import { board, state } from "./state.js";
import { go } from "./viewer.js";

const KEPT = 60;  // events of an agent that are listed
let heard = [];  // events of the game, newest first

// Another board: its legend, and a list for each agent.
export function build() {
  const { how_to_play, legend, colours } = board();
  at("how").hidden = !how_to_play;
  at("how").open = !matchMedia("(max-width: 860px)").matches;
  at("legend").previousElementSibling.hidden = !legend.length;
  at("legend").replaceChildren(...legend.map(({ name, sprite }) => {
    const line = make("li");
    line.append(picture(sprite), make("span", name));
    return line;
  }));
  at("events").replaceChildren(...colours.map((colour, agent) => {
    const section = make("section"), title = make("h3");
    const dot = picture(`<circle cx="1" cy="1" r=".9" fill="${colour}" stroke="currentColor" stroke-width=".2"/>`, 2);
    title.append(dot, make("span", `Player ${agent + 1}`), make("small", "", "away"));
    section.append(title, make("ol"));
    return section;
  }));
}

// Keep the events of a frame, and tell them to a screen reader.
export function hear({ time, score, over, events }) {
  if (time === 0) heard = [];
  heard.unshift(...events.map((event) => ({ ...event, moment: time })).reverse());
  heard = heard.slice(0, 40 * KEPT);
  const told = events.map(({ agent, words }) => `Player ${agent + 1}: ${words}`);
  if (state.frame && state.frame.score !== score) told.push(`Score ${score}`);
  if (over) told.push("The episode is over");
  if (told.length) say(told.join(". "));
}

export function say(words) {
  at("said").textContent = words;
}

export function draw() {
  const away = state.film ? state.film.away[state.moment] : state.frame.away;
  at("events").querySelectorAll(".away").forEach((mark, agent) => { mark.textContent = away.includes(agent) ? "away" : ""; });
  instruct();
  at("events").querySelectorAll("ol").forEach(list);
}

// What to do, with the keys of actions, which the text has in backticks.
function instruct() {
  const parts = board().how_to_play.split("`");
  const shown = parts.map((part, number) => (number % 2 ? make("kbd", keyOf(part)) : part));
  at("how").lastElementChild.replaceChildren(...shown);
}

// The events of an agent; those of a replay lead to their steps.
function list(element, agent) {
  const { film } = state, own = (film ? film.events : heard).filter((event) => event.agent === agent);
  if (film && element.childElementCount === own.length && element.dataset.film === film.id) return mark(element, own);
  element.dataset.film = film ? film.id : "";
  element.replaceChildren(...(film ? own : own.slice(0, KEPT)).map((event) => {
    const line = make("li"), inside = film ? make("button") : line;
    inside.append(make("time", event.moment), make("span", event.words));
    if (film) {
      inside.type = "button";
      inside.onclick = () => go(event.moment);
      line.append(inside);
    }
    return line;
  }));
  if (film) mark(element, own);
}

function mark(element, own) {
  own.forEach((event, number) => element.children[number].classList.toggle("now", event.moment === state.moment));
  const now = own.filter((event) => event.moment <= state.moment).length - 1;
  if (now >= 0) element.scrollTop = element.children[now].offsetTop - element.offsetTop - element.clientHeight / 2;
}
