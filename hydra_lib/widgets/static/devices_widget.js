import { closest, scale, ticks } from "./chart.js";
import { divisors, headsOverRanks, prefixed, refused, seconds, speedups } from "./costs.js";
import { withinLimits } from "./limits.js";
import { three } from "./records.js";
import {
  brief, el, field, follow, grab, grouped, hue, line, number, put, say, slider, svg, swatch, table, text, ungrouped, update,
} from "./ui.js";

const MACHINES = 4; // drawn in one row; of more, the last says how many
const HEADS = 8; // of one machine
const SMALL = 32; // of the rest of them, a mark each
const [WIDTH, HEIGHT] = [340, 180];
const [LEFT, RIGHT, TOP, BOTTOM] = [46, WIDTH - 12, 8, HEIGHT - 22];
const TOKENS = Array.from({ length: 20 }, (_, i) => 2 ** i);
const SPEEDS = [-3, -2, -1, 0, 1, 2, 3].flatMap((p) =>
  [1, 1.5, 2, 3, 5, 7].map((x) => Number(`${x}e${p}`))).concat(10000);
const legible = (x) => (x < 1000 ? number(x) : grouped(x));

function render({ model, el: root }) {
  const limits = model.get("limits");
  const set = (trait) => (value) => update(model, { [trait]: value });
  let counts = [1];
  const ranks = slider("Ranks", { min: 0, max: 1 }, (i) => update(model, { ranks: counts[i] }));
  const tokens = slider("Tokens T", { min: 0, max: TOKENS.length - 1 }, (i) => update(model, { T: TOKENS[i] }));
  const link = slider("Link, GB/s", { min: 0, max: SPEEDS.length - 1 }, (i) => update(model, { bandwidth: SPEEDS[i] }));
  const typed = Object.entries({
    d_model: "d_model", n_heads: "n_heads", T: "T", bandwidth: "GB/s", rate: "TFLOP/s",
  }).map(([trait, label]) => [trait, field(label, (text) => read(text, limits[trait]), set(trait))]);

  const problem = el("p", { class: "hydra-problem hydra-misfit", role: "alert" });
  const caption = el("figcaption");
  const machines = el("div", { class: "hydra-machines", "aria-hidden": "true" });
  const sum = el("div", { class: "hydra-sum", "aria-hidden": "true" });
  // One rank's time and theirs, on one scale: the longer of them is as wide as the room.
  const bars = [0, 1].map(() => ({ name: el("span"), bar: el("div", { class: "hydra-spent" }), time: el("span") }));
  const costs = table("One forward pass, for each rank", 5, 1, (i) =>
    ["computes", "sends", "time to compute", "time to send", "share for sending"][i]);
  costs.root.classList.add("hydra-tally", "hydra-numbers");
  const chart = speedup(set("ranks"));
  const summary = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:4", role: "status" });
  const shown = el("div", {},
    el("figure", { class: "hydra-figure" }, caption, machines, sum),
    el("div", { class: "hydra-times", "aria-hidden": "true" }, ...bars.flatMap(({ name, bar, time }) => [name, bar, time])),
    el("p", { class: "hydra-note" }, swatch("var(--hot)"), " computing ", swatch("var(--accent)"), " sending"),
    el("div", { class: "hydra-panels" }, costs.root, chart.root, summary));
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, ranks.root, tokens.root, link.root), shown,
    el("p", { class: "hydra-note hydra-apart" }, "Your own numbers:"),
    el("div", { class: "hydra-controls" }, ...typed.map(([, f]) => f.root)), problem,
  );

  return follow(model, ["d_model", "n_heads", "T", "ranks", "rate", "bandwidth"], () => {
    const [dModel, heads, T, P] = ["d_model", "n_heads", "T", "ranks"].map((trait) => model.get(trait));
    const [rate, bandwidth] = [1e12 * model.get("rate"), 1e9 * model.get("bandwidth")];
    // A number that does not divide keeps a place, so that the slider leads away from it.
    counts = [...new Set([...divisors(heads), P])].sort((a, b) => a - b);
    ranks.input.max = counts.length - 1;
    ranks.set(nearest(counts, P), String(P));
    tokens.set(nearest(TOKENS, T), grouped(T));
    link.set(nearest(SPEEDS, model.get("bandwidth")), legible(model.get("bandwidth")));
    for (const [trait, input] of typed) input.set(String(model.get(trait)));
    say(problem, refused(dModel, heads, P));
    const invalid = problem.textContent !== "";
    // What was drawn last stays, in grey, so that the page does not shrink under the hand.
    shown.classList.toggle("hydra-stale", invalid);
    shown.hidden = invalid && machines.childElementCount === 0;
    if (invalid) {
      say(summary, "");
      return;
    }
    const cost = headsOverRanks(dModel, T, P);
    const time = seconds(cost, rate, bandwidth);
    const percent = time.share > 0.9995 && time.share < 1 ? "> 99.9 %" : `${brief(100 * time.share)} %`;
    say(caption, `${many(heads, "head")} on ${many(P, "rank")}${P > 1 ? ", apart until Wₒ" : ""}`);
    machines.replaceChildren(...cards(P, heads));
    say(sum, P === 1 ? "the sum over heads; nothing to send"
      : `Σ one all-reduce: each sends ${prefixed(cost.bytes, "B").replace(" ", "\u00a0")}`);
    [prefixed(cost.flops, "FLOP"), prefixed(cost.bytes, "B"), prefixed(time.compute, "s"),
      prefixed(time.communicate, "s"), percent].forEach((text, i) => {
      say(costs.cells[i][0], text);
    });
    const all = speedups({ dModel, heads, tokens: T, rate, bandwidth });
    const own = all.find((point) => point.ranks === P);
    chart.draw(all, own);
    const alone = seconds(headsOverRanks(dModel, T, 1), rate, bandwidth);
    const longest = Math.max(alone.compute, time.compute + time.communicate);
    [["1 rank", alone], [many(P, "rank"), time]].forEach(([name, { compute, communicate }], at) => {
      say(bars[at].name, name);
      say(bars[at].time, prefixed(compute + communicate, "s"));
      bars[at].bar.style = `--computing:${(100 * compute / longest).toFixed(2)}%;`
        + `--whole:${(100 * (compute + communicate) / longest).toFixed(2)}%`;
    });
    for (const part of Object.values(bars[1])) part.classList.toggle("hydra-away", P === 1); // the same again
    say(summary, `${many(P, "rank")}, ${many(heads / P, "head")} each: `
      + `${prefixed(time.compute + time.communicate, "s")} predicted, ${percent} of it for sending; `
      + (P === 1 ? "the one to compare others with." : own.times < 1 ? `${three(1 / own.times)} times as slow as one.`
        : `${three(own.times)} times as fast as one.`));
  });
}

const many = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;

/** Where a list that rises comes closest to a value, by ratio. */
function nearest(list, value) {
  const far = list.map((x) => Math.abs(Math.log(x / value)));
  return far.indexOf(Math.min(...far));
}

/** The machines with their heads. */
function cards(ranks, heads) {
  const own = heads / ranks;
  const drawn = ranks > MACHINES ? MACHINES - 1 : ranks;
  const room = Math.max(HEADS, (4 * HEADS) / ranks); // heads that a machine has room for
  const made = Array.from({ length: drawn }, (_, rank) => {
    const few = own > room ? room - 1 : own;
    const chips = Array.from({ length: few }, (_, i) =>
      el("span", { style: hue(rank * own + i, heads) }, rank * own + i));
    if (few < own) chips.push(el("span", { style: hue(rank, ranks) }, `+${own - few}`));
    return el("div", {}, el("div", { class: "hydra-title" }, `rank ${rank}`),
      el("div", { class: "hydra-strip" }, ...chips), el("div", { class: "hydra-down" }, ranks > 1 ? "Wₒ ↓" : "Wₒ"));
  });
  const rest = ranks - drawn > SMALL ? [] : Array.from({ length: ranks - drawn }, (_, at) =>
    el("i", { style: hue(drawn + at, ranks) }));
  if (drawn < ranks) made.push(el("div", {}, el("div", { class: "hydra-title" }, `and ${grouped(ranks - drawn)} more`),
    el("div", { class: "hydra-strip" }, ...rest), el("div", { class: "hydra-down" }, "Wₒ ↓")));
  return made;
}

/** How many times faster, against the number of ranks, both on log scales; dashed, as many as ranks. */
function speedup(choose) {
  const caption = el("figcaption", {}, "times as fast as one rank, against the number of ranks, both on log scales: drag the dot; dashed: as many times as ranks");
  const drawn = svg("g");
  const dot = svg("circle", { class: "hydra-dot", r: 6 });
  const handle = svg("circle", { class: "hydra-handle", r: 22 });
  const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, drawn, dot, handle);
  let stops = [];
  grab(handle, plot, (across) => choose(closest(stops, across * WIDTH).ranks));
  const root = el("figure", { class: "hydra-figure hydra-plot hydra-wide" }, caption, plot);
  const draw = (points, chosen) => {
    const most = points.at(-1).ranks;
    const across = { low: 1, high: Math.max(2, most), log: true };
    // By whole decades, or a link that becomes slower would move the axis and not the curve.
    const up = { low: 10 ** Math.min(-1, Math.floor(Math.log10(Math.min(...points.map((p) => p.times))))), high: across.high, log: true };
    const [x, y] = [scale(across, LEFT, RIGHT), scale(up, BOTTOM, TOP)];
    stops = points.map((p) => ({ ranks: p.ranks, at: x(p.ranks) }));
    drawn.replaceChildren(
      ...ticks(up, 4).flatMap((times) => [
        line(LEFT, y(times), RIGHT, y(times), "hydra-grid"), text(LEFT - 10, y(times) + 4, number(times).replace(".00e", "e"), "end")]),
      ...(points.length <= 7 ? points.map((p) => p.ranks) : ticks(across, 6))
        .map((ranks) => text(x(ranks), BOTTOM + 15, grouped(ranks), ranks < 1000 ? "middle" : "end")),
      line(LEFT, BOTTOM, RIGHT, BOTTOM, "hydra-base"),
      line(x(1), y(1), x(most), y(most), "hydra-rule"),
      svg("polyline", { class: "hydra-line", points: points.map((p) => `${x(p.ranks)},${y(p.times)}`).join(" ") }),
    );
    for (const one of [dot, handle]) put(one, { cx: x(chosen.ranks), cy: y(chosen.times) });
  };
  return { root, draw };
}

/** What a reader may type: the numbers that the class takes. */
function read(text, { min, max, integer }) {
  const value = text.trim() === "" ? NaN : Number(ungrouped(text));
  if (!(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
    throw new Error(`expected ${integer ? "an integer" : "a number"} from ${min} to ${grouped(max)}, `
      + `got ${text.trim() || "nothing"}`);
  }
  return value;
}

export default { render, valid: withinLimits };
