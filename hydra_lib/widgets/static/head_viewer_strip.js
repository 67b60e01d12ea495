// The document of the head viewer: its symbols, and the arcs to those that a head takes from.
import { NOTICED, share } from "./head_viewer_told.js";
import { el, heat, roving, say, svg, update } from "./ui.js";

const LETTER = 8; // width of one in a head's name, about, in pixels
const RISE = 22; // of an arc's handles above the symbols, in pixels
const HIGHEST = 64; // of a long one's over the first line, where there is room
export const DRAWN = 27; // symbols of a drawn document: one line of a desktop page, three of a phone

/** A position that is pointed at, until one is chosen. */
export function pointing(model, draw) {
  let hovered;
  const point = (position) => {
    if (position === hovered) return;
    hovered = position;
    draw();
  };
  const choose = (position) => {
    hovered = undefined;
    update(model, { position });
    draw();
  };
  return { point, choose, at: () => hovered, leave: () => { hovered = undefined; } };
}

/** The document as lines of buttons, shaded by the weights of one query, with an arc to each that it takes from. */
export function symbolStrip({ choose, point }) {
  const root = el("div", { class: "hydra-symbols", role: "group", "aria-label": "document", onmouseleave: () => point(undefined) });
  const arcs = svg("svg", { class: "hydra-looks", "aria-hidden": "true" });
  let [buttons, rest] = [[], undefined];
  let places = []; // of the buttons, read when they are laid out and not before
  let shown = { row: [], position: 0, prior: [] };
  const observer = new ResizeObserver(() => {
    const { x, y } = root.getBoundingClientRect();
    places = buttons.map((one) => {
      const box = one.getBoundingClientRect();
      return { x: box.x + box.width / 2 - x, top: box.top - y, bottom: box.bottom - y };
    });
    join();
  });
  const join = () => {
    const to = places[shown.position];
    const taken = places.map((from, j) => [from, shown.row[j], j]).filter(([, w, j]) => w >= NOTICED && j < shown.position);
    arcs.replaceChildren(...taken.map(([from, w]) => svg("path", {
      d: look(from, to, to.top === places[0].top), "stroke-width": (1 + 9 * w).toFixed(2),
      class: to.top - from.bottom > from.bottom - from.top ? "hydra-across" : "",
    })), ...(places.length ? under(shown.prior) : []));
  };
  /** Where the layer before had looked: below the line, with the names of its heads where there is room. */
  const under = (prior) => {
    const oneLine = places.at(-1).top === places[0].top;
    const named = []; // the room that names have taken
    return prior.flatMap(({ from, to, heads }) => {
      const [start, end] = [places[from], places[to]];
      const d = start.top === end.top ? `M${start.x} ${start.bottom}C${start.x} ${start.bottom + RISE} ${end.x} ${start.bottom + RISE} ${end.x} ${start.bottom}`
        : look(start, end, false);
      const [name, x] = [heads.join(" "), (start.x + end.x) / 2];
      const half = LETTER * name.length / 2;
      const free = oneLine && named.every((other) => Math.abs(other.x - x) > half + other.half);
      if (free) named.push({ x, half });
      return [svg("path", { d, class: "hydra-prior" }), ...(free ? [svg("text", { x, y: start.bottom + RISE + 8 }, name)] : [])];
    });
  };
  const prepare = (text) => {
    buttons = [...text].map((symbol, i) => el("button", {
      type: "button", onclick: () => choose(i), onfocus: () => choose(i), onmouseenter: () => point(i),
    }, el("span", {}, symbol), el("small")));
    root.replaceChildren(arcs, ...buttons);
    root.style.setProperty("--symbols", buttons.length);
    root.classList.toggle("hydra-brief", buttons.length <= DRAWN);
    rest = roving([buttons]);
    places = [];
    observer.unobserve(root); // to be told of the new buttons even where the strip keeps its size
    observer.observe(root);
  };
  const draw = (row, position, answers, prior, settled, isOff) => {
    shown = { row, position, prior };
    root.classList.toggle("hydra-off", isOff);
    join();
    buttons.forEach((button, j) => {
      const symbol = button.firstChild.textContent;
      const weight = share(row[j]);
      heat(button, row[j]);
      say(button.lastChild, row[j] >= NOTICED ? weight : "");
      button.setAttribute("aria-current", j === position);
      button.classList.toggle("hydra-answer", answers.includes(j));
      button.classList.toggle("hydra-later", j > position);
      button.setAttribute("aria-label", `${j}: ${symbol}, ${j > position ? "later" : `weight ${weight}`}`
        + (answers.includes(j) ? ", the answer" : ""));
    });
    if (settled) rest(buttons[position]);
  };
  return { root, prepare, draw };
}

/** From a key to a query: over their line, or through the gaps between two. */
function look(from, to, first) {
  const level = from.top === to.top;
  const rise = level && first ? Math.min(HIGHEST, RISE + (to.x - from.x) / 6) : RISE;
  const [start, bend] = level ? [from.top, -rise] : [from.bottom, RISE];
  return `M${from.x} ${start}C${from.x} ${start + bend} ${to.x} ${to.top - rise} ${to.x} ${to.top}`;
}
