import { boltzmann, meltingPoints, positionOf, STEPS, temperatureAt } from "./boltzmann.js";
import { levels } from "./levels.js";
import { decode, encode, withinLimits } from "./limits.js";
import { brief, el, field, follow, grab, grouped, line, listed, number, put, say, setChoice, slider, svg, ungrouped, update } from "./ui.js";

const EXAMPLES = {
  "A tie of two": [2, 2, 0, -1, -2],
  "A row of the running mean": [0, 0, 0, "-inf", "-inf"],
};
const QUANTITIES = {
  U: { name: "mean energy U", width: 240, height: 96 },
  F: { name: "free energy F", width: 240, height: 96 },
  S: { name: "entropy S, in nats", width: 500, height: 96 }, // one below the other: C is the slope of S
  C: { name: "heat capacity C, the slope of S against ln τ", width: 500, height: 140 },
};
const MARGIN = 0.025; // of the width: room for the mark at both ends

/** What a reader may type: a number, with a decimal comma or with those of thousands; "inf", "∞". */
function parse(text, most) {
  const trimmed = text.trim().toLowerCase();
  if (["∞", "inf", "infinity"].includes(trimmed)) return Infinity;
  const value = trimmed === "" ? NaN : Number(ungrouped(trimmed).replace(",", ".").replace("−", "-"));
  if (!(value >= 0 && value <= most)) {
    throw new Error(`τ must be a number from 0 to ${grouped(most)}, or ∞, got “${text}”`);
  }
  return value;
}

function render({ model, el: root }) {
  const set = (tau) => update(model, { tau: encode(tau) });
  const temperature = slider("Temperature τ", { min: 0, max: STEPS }, (position) =>
    set(temperatureAt(position)));
  const typed = field("or type τ", (text) => parse(text, model.get("limits").tau.max), set);
  const given = model.get("given");
  const example = setChoice("Example", given, EXAMPLES, (scores) => update(model, { scores }));

  const lift = (i, energy) => update(model, {
    scores: model.get("scores").map((s, at) => (at === i ? -energy || 0 : s)),
  });

  const states = el("div", { class: "hydra-ladder" });
  const charts = model.get("curves") ? Object.keys(QUANTITIES).map((quantity) => chart(quantity, set)) : [];
  const melts = el("p", { class: "hydra-note hydra-held" });
  const summary = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:4", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls hydra-wide-first" }, temperature.root, typed.root, example.root),
    el("div", { class: "hydra-panels" }, states, ...(charts.length
      ? [el("div", { class: "hydra-charts" }, ...charts.map((one) => one.root), melts)] : [])),
    summary,
  );

  let ladder; // for as many states as there are
  let size;
  let drawn; // the scores that the curves were drawn for
  return follow(model, ["tau", "scores"], () => {
    const scores = model.get("scores").map(decode);
    const tau = decode(model.get("tau"));
    const now = boltzmann(scores, tau);
    if (scores.length !== size) {
      size = scores.length;
      ladder = levels(size, lift);
      states.replaceChildren(ladder.root);
    }
    if (charts.length && JSON.stringify(model.get("scores")) !== drawn) {
      drawn = JSON.stringify(model.get("scores"));
      const curve = Array.from({ length: STEPS + 1 }, (_, x) => boltzmann(scores, temperatureAt(x)));
      const points = meltingPoints(scores);
      for (const one of charts) one.trace(curve, scores);
      charts.at(-1).mark(points);
      say(melts, points.length === 0 ? "No peak of C between τ = 0.01 and 100."
        : `Dotted: C peaks at τ = ${listed(points.map(brief))}.`);
    }
    temperature.set(positionOf(tau), number(tau));
    typed.set(number(tau));
    example.set(scores.map(encode));
    ladder.draw(scores, given.map(decode), tau, now.p);
    for (const one of charts) one.move(tau, now);
    const room = scores.filter((s) => s > -Infinity).length;
    say(summary, `${phase(tau)} effectively ${number(Math.exp(now.S))} of ${room} `
      + `${room === 1 ? "state" : "states"} in use.` + (tau === Infinity || !charts.length ? "" : ` F = U − τS: ${number(now.F)} ≈ `
        + `${number(now.U)} − ${number(tau)} × ${number(Number(now.S.toFixed(4)))}.`));
  });
}

function phase(tau) {
  if (tau === 0) return "Frozen, all mass on the lowest energy:";
  if (tau === Infinity) return "Melted, energies no longer matter:";
  return `At τ = ${number(tau)}:`;
}

/** One quantity over the whole temperature axis, with a mark at the current τ; `set` is told where it is dragged to. */
function chart(quantity, set) {
  const { name, width, height } = QUANTITIES[quantity];
  const x = (position) => width * (MARGIN + (position / STEPS) * (1 - 2 * MARGIN));
  let y;
  const path = svg("polyline", { class: "hydra-line" });
  const dot = svg("circle", { r: 4.5, class: "hydra-dot" });
  const handle = svg("circle", { r: 22, class: "hydra-along" });
  const rule = svg("line", { y1: 0, y2: height, class: "hydra-solid" });
  const value = el("output", { "data-quantity": quantity, "aria-live": "off" });
  const peaks = svg("g");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, peaks, path, rule, dot, handle);
  grab(handle, picture, (across) => set(temperatureAt(Math.round((STEPS * (across - MARGIN)) / (1 - 2 * MARGIN)))), true);
  const root = el("figure", { class: width > 240 && "hydra-break" }, el("figcaption", {}, name, value), picture,
    el("div", { class: "hydra-axis", "aria-hidden": "true" },
      ...["0", "0.1", "τ = 1", "10", "∞"].map((t) => el("span", {}, t))));
  const trace = (curve, scores) => {
    const points = curve.map((at) => at[quantity]);
    const finite = points.filter(Number.isFinite);
    let low = Math.min(...finite);
    let high = Math.max(...finite);
    if (quantity === "F") {
      // F falls without end; the frame shows the part where energy and entropy compete.
      const energies = scores.filter(Number.isFinite).map((s) => -s);
      low = high - 2 * (Math.max(...energies) - Math.min(...energies) + 1);
    }
    if (high - low < 1e-12) [low, high] = [low - 1, high + 1];
    y = (v) => height - 6 - Math.min(1, Math.max(-1, (v - low) / (high - low))) * (height - 12);
    path.setAttribute("points", points.map((v, i) =>
      `${x(i).toFixed(1)},${y(Math.max(v, low - 9 * (high - low))).toFixed(1)}`).join(" "));
  };
  const move = (tau, now) => {
    const at = x(positionOf(tau));
    put(rule, { x1: at, x2: at });
    for (const one of [dot, handle]) put(one, { cx: at, cy: Math.min(height - 4, y(now[quantity])) });
    say(value, number(now[quantity]));
  };
  const mark = (taus) => peaks.replaceChildren(...taus.map((tau) =>
    line(x(positionOf(tau)), 0, x(positionOf(tau)), height, "hydra-gap")));
  return { root, trace, move, mark };
}

/** What a link may ask for; one state at least can be occupied. */
function valid(trait, value, initial) {
  return withinLimits(trait, value, initial) && (trait !== "scores" || value.some(Number.isFinite));
}

export default { render, valid };
