// The menus and buttons above the board, and opening a replay.

import { at, click, make } from "./dom.js";
import { letGo, pads } from "./keys.js";
import { state } from "./state.js";

export function start(run) {
  const choose = (changes) => restart(run.send, changes);
  change("world", (id) => choose({ id, people: state.game.people.filter((agent) => agent < 2) }));
  change("people", (agents) => choose({ people: agents ? agents.split(",").map(Number) : [] }));
  change("partner", (partner) => choose({ partner }));
  change("speed", (speed) => run.send({ do: "speed", speed: Number(speed) }));
  click("pause", () => run.send({ do: "pause", paused: !state.game.paused }));
  click("restart", () => choose({}));
  click("save", () => {});  // the link gives the focus back
  click("open", () => at("file").click());
  at("file").addEventListener("change", () => open(run));
}

// Begin a new episode, perhaps of another game.
export function restart(send, changes = {}) {
  const { id, people, partner } = state.game;
  at("error").textContent = "";
  letGo();
  send({ do: "choose", id, people, partner, ...changes });
}

export function draw() {
  const { game } = state, everyone = game.colours.map((_, agent) => agent);
  fill(at("world"), game.ids.map((id) => [id, named(id)]), game.id);
  const people = everyone.slice(0, 8).map((agent) => [String(agent), `player ${agent + 1}`]);
  if (everyone.length > 1) people.push(["0,1", "players 1 and 2"]);
  people.push(["", "nobody: watch"]);
  fill(at("people"), people, game.people.join());
  fill(at("partner"), game.partners.map((name) => [name, name]), game.partner);
  at("partner").disabled = game.people.length === everyone.length;
  const a_second = (speed) => (speed ? `${speed} step${speed === 1 ? "" : "s"} a second` : "waits for you");
  fill(at("speed"), game.speeds.map((speed) => [String(speed), a_second(speed)]), String(game.speed));
  pads();
}

const named = (id) => id.replace(/^Overcooked-|-V\d+$/g, "").replace(/([a-z])([A-Z])/g, "$1 $2");

function fill(select, choices, chosen) {
  const wanted = JSON.stringify(choices);
  if (select.dataset.choices !== wanted) {
    select.replaceChildren(...choices.map(([value, words]) => {
      const option = make("option", words);
      option.value = value;
      return option;
    }));
    select.dataset.choices = wanted;
  }
  if (!select.dataset.keys) select.value = chosen;
}

// A choice by keys counts when Enter is pressed or the menu is left: arrows go through all choices.
function change(id, action) {
  const menu = at(id);
  let before = null;
  const settle = () => {
    const chosen = menu.dataset.keys && menu.value !== before;
    delete menu.dataset.keys;
    if (chosen) action(menu.value);
  };
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Enter") return menu.blur();
    if (event.key === "Escape" && menu.dataset.keys) menu.value = before;
    if (event.key === "Escape" || event.key === "Tab" || menu.dataset.keys) return;
    [before, menu.dataset.keys] = [menu.value, "yes"];
  });
  menu.addEventListener("pointerdown", settle);
  menu.addEventListener("blur", settle);
  menu.addEventListener("change", () => {
    if (menu.dataset.keys) return;
    action(menu.value);
    menu.blur();
  });
}

async function open(run) {
  const [file] = at("file").files;
  at("file").value = "";
  if (!file) return;
  at("error").textContent = "";
  try {
    const packed = file.name.endsWith(".gz");
    const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const command = { do: "show", text: await new Response(stream).text() };
    if (!run.fits(command)) throw new Error("it is too large");
    run.send(command);
  } catch (error) {
    at("error").textContent = `${file.name} cannot be read: ${error.message}.`;
  }
}
