// The board: one sprite for each look, used by the cells that have it.

import { at, SVG } from "./dom.js";
import { board, state } from "./state.js";

// Sprites are kept by the views' numbers; those of the game and of a replay are numbered separately.
const prefix = () => (state.film ? "f" : "g");
let shown = "";

export function learn(sprites) {
  for (const [view, look] of Object.entries(sprites)) {
    let sprite = at(prefix() + view);
    if (!sprite) {
      sprite = document.createElementNS(SVG, "g");
      sprite.id = prefix() + view;
      at("sprites").append(sprite);
    }
    sprite.innerHTML = look;
  }
}

// Lay out the cells of another board; true if it is one.
export function build() {
  const { height, width, colours, id } = board();
  const form = JSON.stringify([height, width, Boolean(state.film), colours.length, id]);
  if (form === shown) return false;
  shown = form;
  at("board").setAttribute("viewBox", `0 0 ${width} ${height}`);
  at("board").setAttribute("aria-label", `the board of ${id}, ${height} rows and ${width} columns`);
  at("cells").replaceChildren(...Array.from({ length: height * width }, (_, cell) => {
    const use = document.createElementNS(SVG, "use");
    use.setAttribute("x", cell % width);
    use.setAttribute("y", Math.floor(cell / width));
    return use;
  }));
  fit();
  return true;
}

export function paint(views) {
  [...at("cells").children].forEach((use, cell) => {
    const name = `#${prefix()}${views[cell]}`;
    if (use.getAttribute("href") !== name) use.setAttribute("href", name);
  });
}

// As large as the window allows.
export function fit() {
  if (!board()) return;
  const { height, width } = board(), phone = matchMedia("(max-width: 860px)").matches;
  const above = phone ? 0 : at("board").getBoundingClientRect().top + window.scrollY + 90;
  const room = window.innerHeight * (phone ? 0.46 : 1) - above;
  const side = Math.max(8, Math.min(120, Math.floor(Math.min(at("stage").clientWidth / width, room / height))));
  at("board").setAttribute("width", side * width);
  at("board").setAttribute("height", side * height);
  at("cover").style.height = `${side * height}px`;
}
