// The heads of the head viewer: all of them in small, and all weights of one.
import { bestRole, isKnown, PLAYED } from "./head_viewer_roles.js";
import { called, share } from "./head_viewer_told.js";
import { el, put, roving, say, svg } from "./ui.js";

const SHADES = 5; // of a weight in a picture in small
const FAINT = 0.005; // a weight below is 0.00 and not drawn

/** A button for each head, a row for each layer: its weights in small, the role it plays best and how well. */
export function headPicker({ layers, heads }, onChoose) {
  const buttons = Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (__, head) => el("button", {
    type: "button", onclick: () => onChoose(layer, head), onfocus: () => onChoose(layer, head),
  }, svg("svg", { "aria-hidden": "true" }), el("span", {}, el("span", {}, called(layer, head)), el("span"), el("span")))));
  const rest = roving([buttons.flat()]); // whose rows a narrow page breaks
  const root = el("div", { class: "hydra-picker" }, ...buttons.map((row, layer) =>
    el("div", { role: "group", "aria-label": `layer ${layer}`, style: `--heads:${row.length}` },
      el("span", { class: "hydra-layer" }, `layer ${layer}`), ...row)));
  const asked = buttons.flat().map(() => [
    svg("rect", { x: 0, height: 1, class: "hydra-query" }), svg("path", { class: "hydra-answered" })]);
  let drawn;
  const draw = (scores, weights, T, position, answers, layer, head, gone, guessed) => {
    if (weights !== drawn) {
      drawn = weights;
      buttons.forEach((row, l) => row.forEach(({ firstChild }, h) =>
        inSmall(firstChild, weights[l][h], T, asked[l * row.length + h])));
    }
    for (const [row, cells] of asked) {
      put(row, { y: position, width: position + 1 });
      put(cells, { d: answers.map((j) => `M${j} ${position}h1v1h-1z`).join("") });
    }
    buttons.forEach((row, l) => row.forEach((button, h) => {
      const chosen = l === layer && h === head;
      const number = l * row.length + h;
      const guess = guessed[number];
      const leading = bestRole(scores, l, h);
      // A head may play two roles: its tile names the one that was seen.
      const role = scores[guess]?.[l][h] >= PLAYED ? guess : leading.role;
      const score = scores[role][l][h];
      const plays = score >= PLAYED;
      const known = isKnown(scores, l, h, guess);
      button.className = `hydra-head${known && !plays ? " hydra-idle" : ""}${number === gone ? " hydra-off" : ""}`;
      button.style.setProperty("--share", known ? `${(100 * score).toFixed(0)}%` : "0%");
      const name = plays ? role : "nothing";
      button.setAttribute("aria-label", `layer ${l}, head ${h}: ${!known ? "guess its role" : plays ? `${name} ${share(score)}` : name}`
        + (number === gone ? ", off" : ""));
      const [own, does, well] = button.lastChild.children;
      say(own, called(l, h) + (known && guess !== "told" ? " ✓" : ""));
      say(does, known ? name : "?");
      say(well, known && plays ? share(score) : "");
      button.setAttribute("aria-pressed", chosen);
    }));
    rest(buttons[layer][head]);
  };
  return { root, draw, focus: () => buttons.flat().find((one) => one.tabIndex === 0).focus({ preventScroll: true }) };
}

/** All weights of a head, in a few shades: enough to tell one head from another. */
function inSmall(picture, weights, T, [row, answers]) {
  const cells = Array(SHADES + 1).fill("");
  weights.forEach((w, n) => {
    const shade = Math.round(w * SHADES);
    if (shade > 0) cells[shade] += `M${n % T} ${Math.floor(n / T)}h1v1h-1z`;
  });
  picture.setAttribute("viewBox", `0 0 ${T} ${T}`);
  picture.replaceChildren(past(T), ...cells.slice(1).map((d, n) =>
    svg("path", { d, class: "hydra-weight", "fill-opacity": (n + 1) / SHADES })), row, answers);
}

/** What T queries may see: the triangle of themselves and all before. */
function past(T) {
  const stairs = Array.from({ length: T }, (_, i) => `V${i}H${i + 1}`).join("");
  return svg("path", { class: "hydra-past", d: `M0 0${stairs}V${T}H0Z` });
}

/** All weights of a head: a row a query, a column a key. */
export function attentionMap({ choose, point }) {
  const caption = el("figcaption", {}, "All its weights: one row per query, one column per key. Framed: the answers.");
  const picture = svg("svg", {
    role: "img", onpointermove: (event) => point(at(event)), onpointerleave: () => point(undefined),
    onclick: (event) => choose(at(event)),
  });
  const row = svg("rect", { x: 0, height: 1, class: "hydra-query" });
  const root = el("figure", { class: "hydra-map" }, caption, picture);
  let drawn; // the weights of the picture; of another text they are others
  const at = (event) => {
    const { top, height } = picture.getBoundingClientRect();
    const T = Math.sqrt(drawn.length);
    return Math.min(T - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * T)));
  };
  const draw = (name, weights, text, notes, position) => {
    const T = text.length;
    row.setAttribute("y", position);
    row.setAttribute("width", position + 1);
    if (weights === drawn) return;
    drawn = weights;
    const cell = (i, j, attributes) => svg("rect", { x: j, y: i, width: 1, height: 1, ...attributes });
    const cells = [...weights].flatMap((w, n) =>
      (w < FAINT ? [] : [cell(Math.floor(n / T), n % T, { class: "hydra-weight", "fill-opacity": w.toFixed(2) })]));
    const answers = notes.flatMap((note, i) => note.answers.map((j) => cell(i, j, { class: "hydra-answered" })));
    picture.setAttribute("viewBox", `-0.2 -0.2 ${T + 0.4} ${T + 0.4}`);
    picture.setAttribute("aria-label", `${name}: ${T} × ${T} weights, one row per query, one column per key`);
    picture.replaceChildren(past(T), ...cells, ...answers, row);
  };
  return { root, draw };
}
