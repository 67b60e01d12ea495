import { boltzmann, positionOf, STEPS, temperatureAt } from "./boltzmann.js";
import { choice, el, follow, heat, number, slider, svg, table, update } from "./ui.js";

const EXAMPLES = {
  "One clear winner": [3, 1, 0.5, 0, -1],
  "Two ties": [2, 2, 0, -1, -2],
  "A row of the running mean": [0, 0, 0, "-inf", "-inf"],
};
const QUANTITIES = {
  U: "mean energy U",
  F: "free energy F",
  S: "entropy S, in nats",
  C: "heat capacity C",
};
const WIDTH = 240;
const HEIGHT = 96;
const MARGIN = 6; // room for the mark at both ends

// Traits travel as JSON, which has no infinities.
const decode = (x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : Number(x));
const encode = (x) => (x === Infinity ? "inf" : x);

/** What a reader may type: a number, "inf", "∞". Anything else is undefined. */
function parse(text) {
  const trimmed = text.trim().toLowerCase();
  if (["∞", "inf", "infinity"].includes(trimmed)) return Infinity;
  const value = trimmed === "" ? NaN : Number(trimmed.replace(",", "."));
  return value >= 0 ? value : undefined;
}

function render({ model, el: root }) {
  const set = (tau) => update(model, { tau: encode(tau) });
  const temperature = slider("Temperature τ", { min: 0, max: STEPS }, (position) =>
    set(temperatureAt(position)));
  const problem = el("span", { class: "hydra-problem", role: "alert" });
  const field = el("input", {
    type: "text", size: 7, "data-lm-suppress-shortcuts": "true",
    onchange: () => {
      const tau = parse(field.value);
      const wrong = tau === undefined;
      field.setAttribute("aria-invalid", wrong);
      problem.textContent = wrong ? `τ must be a number from 0 to ∞, got “${field.value}”` : "";
      if (!wrong) set(tau);
    },
  });
  const typed = el("label", { class: "hydra-control" }, el("span", {}, "or type τ"), field, problem);
  const example = choice("Example", [["", "as given"], ...Object.keys(EXAMPLES).map((k) => [k, k])],
    (name) => update(model, { scores: EXAMPLES[name] ?? given }));
  const given = model.get("scores");

  const states = el("div");
  const charts = el("div", { class: "hydra-charts" });
  const summary = el("p", { class: "hydra-summary", "aria-live": "polite" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls hydra-wide-first" }, temperature.root, typed, example.root),
    el("div", { class: "hydra-panels" }, states, charts),
    summary,
  );

  let drawn; // the scores the table and the curves were made for
  let rows;
  let marks;
  const prepare = (scores) => {
    drawn = JSON.stringify(scores);
    rows = table("Each state (key): energy and probability", scores.length, 3, (i) => i + 1);
    rows.root.prepend(el("thead", {}, el("tr", {},
      ...["state", "E = −s", "p", ""].map((h) => el(h ? "th" : "td", { scope: h && "col" }, h)))));
    rows.root.prepend(rows.root.querySelector("caption"));
    rows.cells.forEach((cells, i) => {
      cells[0].textContent = number(-scores[i] || 0);
      cells[2].className = "hydra-bar";
    });
    states.replaceChildren(rows.root);
    marks = Object.keys(QUANTITIES).map((q) => chart(q, scores));
    charts.replaceChildren(...marks.map((mark) => mark.root));
    const name = Object.keys(EXAMPLES).find((k) => JSON.stringify(EXAMPLES[k].map(decode)) === drawn);
    example.select.value = drawn === JSON.stringify(given.map(decode)) ? "" : (name ?? "");
  };

  return follow(model, ["tau", "scores"], () => {
    const scores = model.get("scores").map(decode);
    const tau = decode(model.get("tau"));
    if (JSON.stringify(scores) !== drawn) prepare(scores);
    const now = boltzmann(scores, tau);
    temperature.set(positionOf(tau), number(tau));
    // Whatever was typed wrong is over as soon as the temperature is set in another way.
    field.value = number(tau);
    field.setAttribute("aria-invalid", false);
    problem.textContent = "";
    rows.cells.forEach((cells, i) => {
      cells[1].textContent = number(now.p[i]);
      cells[2].style = heat(now.p[i]);
    });
    marks.forEach((mark) => mark.move(tau, now));
    const room = scores.filter((s) => s > -Infinity).length;
    summary.textContent = `${phase(tau)} effectively ${number(Math.exp(now.S))} of ${room} `
      + "states in use." + (tau === Infinity ? "" : ` F = U − τS: ${number(now.F)} = `
        + `${number(now.U)} − ${number(tau)} × ${number(now.S)}.`);
  });
}

function phase(tau) {
  if (tau === 0) return "Frozen, all mass on the lowest energy:";
  if (tau === Infinity) return "Melted, energies no longer matter:";
  return `At τ = ${number(tau)}:`;
}

/** One quantity over the whole temperature axis, with a mark at the current τ. */
function chart(quantity, scores) {
  const points = Array.from({ length: STEPS + 1 }, (_, x) =>
    boltzmann(scores, temperatureAt(x))[quantity]);
  const finite = points.filter(Number.isFinite);
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  if (quantity === "F") {
    // F falls without end; the frame shows the part where energy and entropy compete.
    const energies = scores.filter(Number.isFinite).map((s) => -s);
    low = high - 2 * (Math.max(...energies) - Math.min(...energies) + 1);
  }
  if (high - low < 1e-12) [low, high] = [low - 1, high + 1];
  const x = (position) => MARGIN + (position / STEPS) * (WIDTH - 2 * MARGIN);
  const y = (value) => HEIGHT - 6 - (Math.min(1, Math.max(-1, (value - low) / (high - low)))
    * (HEIGHT - 12));
  const line = points.map((v, i) => `${x(i).toFixed(1)},${y(Math.max(v, low - 9 * (high - low))).toFixed(1)}`);
  const dot = svg("circle", { r: 4.5, class: "hydra-dot" });
  const rule = svg("line", { y1: 0, y2: HEIGHT, class: "hydra-rule" });
  const value = el("output", { "data-quantity": quantity });
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    svg("polyline", { points: line.join(" "), class: "hydra-line" }), rule, dot);
  const root = el("figure", {}, el("figcaption", {}, QUANTITIES[quantity], value), picture,
    el("div", { class: "hydra-axis", "aria-hidden": "true" },
      ...["0", "0.1", "τ = 1", "10", "∞"].map((t) => el("span", {}, t))));
  const move = (tau, now) => {
    const at = x(positionOf(tau));
    rule.setAttribute("x1", at);
    rule.setAttribute("x2", at);
    dot.setAttribute("cx", at);
    dot.setAttribute("cy", Math.min(HEIGHT - 4, y(now[quantity])));
    value.textContent = number(now[quantity]);
  };
  return { root, move };
}

/** What a link may ask for. */
function valid(trait, value) {
  if (trait === "tau") return value === "inf" || (Number.isFinite(value) && value >= 0);
  return trait === "scores" && Array.isArray(value) && value.length > 0
    && value.every((s) => Number.isFinite(s) || s === "-inf");
}

export default { render, valid };
