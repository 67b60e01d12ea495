import { divisors, headsOverRanks, prefixed, refused, seconds, speedups } from "./costs.js";
import { withinLimits } from "./limits.js";
import { el, field, follow, number, slider, svg, swatch, table, update } from "./ui.js";

const MACHINES = 8; // drawn; of more, the last says how many
const HEADS = 8; // of one machine
const [WIDTH, HEIGHT] = [480, 150];
const TOKENS = Array.from({ length: 20 }, (_, i) => 2 ** i);
const SPEEDS = [-3, -2, -1, 0, 1, 2, 3].flatMap((p) =>
  [1, 1.5, 2, 3, 5, 7].map((x) => Number(`${x}e${p}`))).concat(10000);
const grouped = (integer) => integer.toLocaleString("en");

function render({ model, el: root }) {
  const limits = model.get("limits");
  const set = (trait) => (value) => update(model, { [trait]: value });
  let counts = [1];
  const ranks = slider("Ranks", { min: 0, max: 1 }, (i) => update(model, { ranks: counts[i] }));
  const tokens = slider("Tokens T", { min: 0, max: TOKENS.length - 1 }, (i) => update(model, { T: TOKENS[i] }));
  const link = slider("Link, GB/s", { min: 0, max: SPEEDS.length - 1 }, (i) => update(model, { bandwidth: SPEEDS[i] }));
  const typed = Object.entries({
    d_model: "d_model", n_heads: "n_heads", T: "T", bandwidth: "GB/s", rate: "TFLOP/s",
  }).map(([trait, label]) => [trait, field(label, (text) => read(label, text, limits[trait]), set(trait))]);

  const problem = el("p", { class: "hydra-problem", role: "alert" });
  const caption = el("figcaption");
  const machines = el("div", { class: "hydra-machines", "aria-hidden": "true" });
  const sum = el("div", { class: "hydra-sum", "aria-hidden": "true" });
  const bar = el("div", { class: "hydra-spent", "aria-hidden": "true" });
  const costs = table("One forward pass, for each rank", 5, 1, (i) =>
    ["computes", "sends", "time to compute", "time to send", "share of sending"][i]);
  costs.root.classList.add("hydra-tally");
  const chart = speedup();
  const summary = el("p", { class: "hydra-summary", "aria-live": "polite" });
  const shown = el("div", {},
    el("figure", { class: "hydra-figure" }, caption, machines, sum), bar,
    el("p", { class: "hydra-note" }, swatch("var(--hot)"), " computing ", swatch("var(--accent)"), " sending"),
    el("div", { class: "hydra-panels" }, costs.root, chart.root), summary);
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, ranks.root, tokens.root, link.root), problem, shown,
    el("p", { class: "hydra-note" }, "Your own numbers:"),
    el("div", { class: "hydra-controls" }, ...typed.map(([, f]) => f.root)),
  );

  return follow(model, ["d_model", "n_heads", "T", "ranks", "rate", "bandwidth"], () => {
    const [dModel, heads, T, P] = ["d_model", "n_heads", "T", "ranks"].map((trait) => model.get(trait));
    const [rate, bandwidth] = [1e12 * model.get("rate"), 1e9 * model.get("bandwidth")];
    counts = divisors(heads);
    ranks.input.max = counts.length - 1;
    ranks.set(nearest(counts, P), String(P));
    tokens.set(nearest(TOKENS, T), grouped(T));
    link.set(nearest(SPEEDS, model.get("bandwidth")), number(model.get("bandwidth")));
    for (const [trait, input] of typed) input.set(String(model.get(trait)));
    problem.textContent = refused(dModel, heads, P);
    shown.hidden = problem.textContent !== "";
    if (shown.hidden) {
      summary.textContent = "";
      return;
    }
    const cost = headsOverRanks(dModel, T, P);
    const time = seconds(cost, rate, bandwidth);
    const percent = `${number(Number((100 * time.share).toPrecision(3)))} %`;
    caption.textContent = `${grouped(heads)} heads on ${many(P, "rank")}. Every rank has x and its own heads; `
      + "nothing is sent before W_O.";
    machines.replaceChildren(...cards(P, heads));
    sum.textContent = P === 1 ? "the sum over heads; nothing to send"
      : `Σ one all-reduce: each rank sends ${prefixed(cost.bytes, "B")}`;
    bar.style = `--share:${(100 * (1 - time.share)).toFixed(2)}%`;
    [prefixed(cost.flops, "FLOP"), prefixed(cost.bytes, "B"), prefixed(time.compute, "s"),
      prefixed(time.communicate, "s"), percent].forEach((text, i) => {
      costs.cells[i][0].textContent = text;
    });
    const all = speedups({ dModel, heads, tokens: T, rate, bandwidth });
    const own = all.find((point) => point.ranks === P);
    chart.draw(all, own);
    summary.textContent = `${many(P, "rank")} with ${many(heads / P, "head")} each: `
      + `${prefixed(time.compute + time.communicate, "s")} by prediction, ${percent} of it to send. `
      + `${number(own.times)} times as fast as one rank.`;
  });
}

const many = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;

/** Where a list that rises comes closest to a value, by ratio. */
function nearest(list, value) {
  const far = list.map((x) => Math.abs(Math.log(x / value)));
  return far.indexOf(Math.min(...far));
}

/** The machines with their heads; colours are the heads', as in the stride microscope. */
function cards(ranks, heads) {
  const own = heads / ranks;
  const drawn = ranks > MACHINES ? MACHINES - 1 : ranks;
  const made = Array.from({ length: drawn }, (_, rank) => {
    const few = own > HEADS ? HEADS - 1 : own;
    const chips = Array.from({ length: few }, (_, i) => el("span", {
      style: `--hue:${Math.round((360 * (rank * own + i)) / heads + 200) % 360}`,
    }, rank * own + i));
    if (few < own) chips.push(el("span", { style: `--hue:${Math.round((360 * rank) / ranks + 200) % 360}` }, `+${own - few}`));
    return el("div", {}, el("div", { class: "hydra-title" }, `rank ${rank}`),
      el("div", { class: "hydra-strip" }, ...chips), el("div", { class: "hydra-down" }, ranks > 1 ? "W_O ↓" : "W_O"));
  });
  if (drawn < ranks) made.push(el("div", {}, el("div", { class: "hydra-title" }, `and ${grouped(ranks - drawn)} more`),
    el("div", { class: "hydra-strip" }), el("div", { class: "hydra-down" }, "W_O ↓")));
  return made;
}

/** How many times faster, against the number of ranks, both by their logarithms; dashed, as many as ranks. */
function speedup() {
  const caption = el("figcaption", {}, "times as fast as one rank, over ranks; dashed: as many times as ranks");
  const ideal = svg("line", { class: "hydra-rule" });
  const curve = svg("polyline", { class: "hydra-line" });
  const dot = svg("circle", { class: "hydra-dot", r: 6 });
  const axis = el("div", { class: "hydra-axis", "aria-hidden": "true" });
  const root = el("figure", { class: "hydra-figure hydra-histogram hydra-wide" }, caption,
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, ideal, curve, dot), axis);
  const draw = (points, chosen) => {
    const most = points.at(-1).ranks;
    root.hidden = most === 1;
    if (root.hidden) return;
    const low = Math.min(0, ...points.map((p) => Math.log(p.times)));
    const x = (n) => 10 + ((WIDTH - 20) * Math.log(n)) / Math.log(most);
    const y = (times) => HEIGHT - 10 - ((HEIGHT - 20) * (Math.log(times) - low)) / (Math.log(most) - low);
    curve.setAttribute("points", points.map((p) => `${x(p.ranks).toFixed(1)},${y(p.times).toFixed(1)}`).join(" "));
    for (const [name, value] of Object.entries({ x1: x(1), y1: y(1), x2: x(most), y2: y(most) })) {
      ideal.setAttribute(name, value.toFixed(1));
    }
    dot.setAttribute("cx", x(chosen.ranks).toFixed(1));
    dot.setAttribute("cy", y(chosen.times).toFixed(1));
    axis.replaceChildren(el("span", {}, "1 rank"), el("span", {}, `${grouped(most)} ranks`));
  };
  return { root, draw };
}

/** What a reader may type: the numbers that the class takes. */
function read(label, text, { min, max, integer }) {
  const value = text.trim() === "" ? NaN : Number(text);
  if (!(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
    throw new Error(`expected ${integer ? "an integer" : "a number"} from ${min} to ${grouped(max)}, `
      + `got ${text.trim() || "nothing"}`);
  }
  return value;
}


export default { render, valid: withinLimits };
