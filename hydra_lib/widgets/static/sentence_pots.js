import { borrowed, droppedBy, grab, put, update } from "./ui.js";

const USUAL = 4; // parts, of which a pot is as large as a value that has none
const TREMBLE = 3; // pixels in which a hand has not chosen yet: the rule stays
const PARTS_OF_KEY = { ArrowUp: 1, ArrowRight: 1, PageUp: 2, ArrowDown: -1, ArrowLeft: -1, PageDown: -2 };

/** The values of the sentence become pots of paint: the larger one is, the more parts of it every word takes.
 * Dragged by hand its upper edge follows; whatever the rule was, the weights are the reader's own from then on. */
export function pots(model, words, paints) {
  const { min, max } = model.get("limits").parts;
  const sizeOf = (parts) => Math.sqrt(parts / USUAL); // its area is the amount
  const set = (j, parts) => update(model, {
    rule: "own",
    parts: model.get("parts").map((old, i) => (i === j ? Math.min(max, Math.max(min, Math.round(parts))) : old)),
  });
  const dropped = droppedBy(paints);
  paints.forEach((pot, j) => {
    pot.classList.add("hydra-pot");
    pot.removeAttribute("aria-hidden");
    put(pot, {
      role: "slider", tabindex: 0, "aria-label": `parts of ${words[j]}`, "aria-orientation": "vertical",
      "aria-valuemin": min, "aria-valuemax": max, "data-lm-suppress-shortcuts": "true",
    });
    let grabbed;
    pot.addEventListener("pointerdown", (event) => {
      event.stopPropagation(); // the sentence would let it go
      pot.focus({ preventScroll: true });
      grabbed = { y: event.clientY, size: sizeOf(model.get("parts")[j]) };
    });
    grab(pot, pot, (x, y, { clientY }) => {
      const size = Math.max(0, grabbed.size + (grabbed.y - clientY) / pot.offsetHeight);
      grabbed.moved ||= Math.abs(grabbed.y - clientY) >= TREMBLE;
      if (grabbed.moved) set(j, USUAL * size ** 2);
    });
    pot.addEventListener("keydown", (event) => {
      const to = { Home: min, End: max }[event.key] ?? model.get("parts")[j] + PARTS_OF_KEY[event.key];
      if (borrowed(event) || Number.isNaN(to)) return;
      event.preventDefault();
      event.stopPropagation();
      set(j, to);
    });
  });
  const draw = () => model.get("parts").forEach((parts, j) => {
    const mixes = model.get("rule") === "own";
    put(paints[j], { "aria-valuenow": parts, "aria-valuetext": mixes ? parts : `${parts}, not in use` });
    paints[j].style.setProperty("--size", mixes ? sizeOf(parts).toFixed(3) : "1");
  });
  // To ask where things are is to lay the page out: once, and again when their size has changed.
  let below = null;
  new ResizeObserver(() => { below = null; }).observe(paints[0]);
  /** How far below their picture, in its units, the arcs begin: within the smallest pot, and so within any. */
  const behind = (arcs, height) => {
    if (model.get("rule") !== "own") return 0;
    if (below === null) {
      const [from, pot] = [arcs, paints[0]].map((part) => part.getBoundingClientRect().bottom);
      below = ((pot - (paints[0].offsetHeight * sizeOf(min)) / 2 - from) * height) / arcs.clientHeight;
    }
    return below;
  };
  return { draw, behind, dropped };
}
