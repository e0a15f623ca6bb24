// Elements by their id, and new ones. Words are always set as text, never as markup.

export const SVG = "http://www.w3.org/2000/svg";

export const at = (id) => document.getElementById(id);

export function make(name, words = "", kind = "") {
  const element = document.createElement(name);
  element.textContent = words;
  if (kind) element.className = kind;
  return element;
}

// A picture of the look of one cell, which is SVG that the game's own code has made.
export function picture(look, size = 1) {
  const element = document.createElementNS(SVG, "svg");
  element.setAttribute("viewBox", `0 0 ${size} ${size}`);
  element.setAttribute("stroke-linejoin", "round");
  element.setAttribute("stroke-linecap", "round");
  element.setAttribute("aria-hidden", "true");
  element.innerHTML = look;
  return element;
}

// A button gives the focus back, so that keys play again; one that stays does so only for a pointer.
export function click(id, action, stays = false) {
  at(id).addEventListener("click", (event) => {
    action();
    if (event.detail || !stays) event.currentTarget.blur();
  });
}
