import { trace } from "./attention.js";
import { withinLimits } from "./limits.js";
import { LENGTH, turned } from "./rotary.js";
import { dot } from "./sentence.js";
import { rowDrawing } from "./trace_drawing.js";
import { brief, css, el, follow, line, put, say, slider, svg, text, update, weight } from "./ui.js";

const DIAL = 6; // how far a dial reaches to each side, in the units of its arrows
const FURTHEST = 24; // words back, in the picture of scores
const PICTURE = { width: 340, height: 200, left: 30, right: 8, top: 10, foot: 40 };
const PAIRS = ["First pair", "Second pair"];
const STEP = 6; // between two numbers below the picture

function render({ model, el: root }) {
  const [words, values] = ["words", "values"].map((name) => model.get(name));
  const limits = model.get("limits");
  const causal = words.map((_, i) => words.map((_, j) => j <= i));
  const choose = (word) => word !== model.get("word") && update(model, { word });

  const rates = PAIRS.map((pair, p) => slider(`${pair} turns`, limits.rates, (rate) =>
    update(model, { rates: model.get("rates").map((old, at) => (at === p ? rate : old)) })));
  const back = slider("Looks back", limits.back, (words) => update(model, { back: words }));
  const start = slider("Text begins at", limits.start, (position) => update(model, { start: position }));

  const drawing = rowDrawing(words, values, choose);
  const positions = words.map(() => el("span", { class: "hydra-score" }));
  const label = (words) => el("span", { class: "hydra-label" }, words);
  const dials = PAIRS.map(() => words.map((_, j) => dial(css(values[j]), () => choose(j))));
  drawing.root.append(...dials.flatMap((row, p) => [
    label(`${PAIRS[p].toLowerCase()}: key and, wide, the query`), ...row.map((one) => one.root)]), label("position"), ...positions);

  const { width, height, left, right, top, foot } = PICTURE;
  const most = (LENGTH ** 2 * PAIRS.length) / Math.sqrt(2 * PAIRS.length);
  const xOf = (distance) => left + ((width - left - right) * distance) / FURTHEST;
  const yOf = (score) => top + ((height - top - foot) * (most - score)) / (2 * most);
  const curve = svg("polyline", { class: "hydra-line" });
  const aim = line(0, top, 0, height - foot, "hydra-aimed");
  const spots = Array.from({ length: FURTHEST + 1 }, () => svg("circle", { r: 4, class: "hydra-spot" }));
  const ticks = Array.from({ length: FURTHEST / STEP + 1 }, (_, i) => STEP * i);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    ...[-most, 0, most].map((score) => line(left, yOf(score), width - right, yOf(score), "hydra-grid")), aim, curve, ...spots,
    ...[-most, 0, most].map((score) => text(left - 8, yOf(score) + 4, String(score).replace("-", "−"), "end")),
    ...ticks.map((distance) => text(xOf(distance), height - foot + 17, distance, "middle")),
    text((left + width - right) / 2, height - 6, "words back →", "middle"));

  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:5", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls hydra-paired" }, ...[...rates, back, start].map((control) => control.root)),
    el("div", { class: "hydra-placed" }, drawing.root,
      el("div", {}, el("figure", { class: "hydra-plot" },
        el("figcaption", { class: "hydra-note" }, "scaled score of a key so many words back; in colour: words that there are"), picture), summary)),
  );

  return follow(model, ["rates", "back", "start", "word"], () => {
    const [turn, set, first, word] = ["rates", "back", "start", "word"].map((name) => model.get(name));
    rates.forEach((control, p) => control.set(turn[p], `${Math.round(10 * turn[p]) / 10}°`));
    back.set(set);
    start.set(first);
    const queries = words.map((_, i) => turned(first + i - set, turn));
    const keys = words.map((_, j) => turned(first + j, turn));
    const steps = trace(queries, keys, values, causal, Math.sqrt(2 * PAIRS.length));
    drawing.draw(word, null, 5, steps);
    dials.forEach((row, p) => row.forEach((one, j) => one.draw(
      keys[j].slice(2 * p, 2 * p + 2), j > word ? null : queries[word].slice(2 * p, 2 * p + 2), j === word)));
    positions.forEach((item, j) => say(item, String(first + j)));

    const score = (distance) => dot(turned(-set, turn), turned(-distance, turn)) / Math.sqrt(2 * PAIRS.length);
    const fine = Array.from({ length: 20 * FURTHEST + 1 }, (_, i) => i / 20);
    put(curve, { points: fine.map((distance) => `${xOf(distance).toFixed(1)},${yOf(score(distance)).toFixed(1)}`).join(" ") });
    put(aim, { x1: xOf(set), x2: xOf(set) });
    spots.forEach((spot, distance) => {
      put(spot, { cx: xOf(distance).toFixed(1), cy: yOf(score(distance)).toFixed(1) });
      const there = distance <= word;
      spot.classList.toggle("hydra-hollow", !there);
      if (there) spot.style.setProperty("--paint", css(values[word - distance]));
    });
    say(summary, told(steps.weights[word], word, set));
  });

  function told(weights, word, set) {
    const away = (j) => (word === j ? " itself" : `, ${counted(word - j)} back,`);
    const gets = (j) => (weights[j] % 1 ? weight(weights[j]) : brief(weights[j]));
    const aimed = word - set;
    const others = weights.map((_, j) => j).filter((j) => j <= word && j !== aimed).sort((i, j) => weights[j] - weights[i]);
    const next = others.length ? `“${words[others[0]]}”${away(others[0])} gets most, ${gets(others[0])}.` : "";
    const looks = `“${words[word]}” looks ${set ? `${counted(set)} back` : "at itself"}`;
    if (aimed < 0) return `${looks}, where there is none; ${next}`;
    return `${looks}${set ? `, at “${words[aimed]}”` : ""}, which gets ${gets(aimed)} of its weight.${next && ` Of the others ${next}`}`;
  }
}

const counted = (words) => (words === 1 ? "1 word" : `${words} words`);

/** A circle with the arrow of a key and, wide and behind it, that of the query. */
function dial(paint, press) {
  const query = line(0, 0, 0, 0, "hydra-ask");
  const key = line(0, 0, 0, 0, "hydra-key");
  const tip = svg("circle", { r: 1.3, class: "hydra-keys", style: `--paint:${paint}` });
  const root = svg("svg", { viewBox: `${-DIAL - 1} ${-DIAL - 1} ${2 * DIAL + 2} ${2 * DIAL + 2}`, class: "hydra-dial", "aria-hidden": "true" },
    svg("circle", { r: DIAL, class: "hydra-rim" }), query, key, tip);
  root.addEventListener("click", press);
  return {
    root,
    draw([x, y], asked, own) {
      put(key, { x2: x.toFixed(3), y2: (-y).toFixed(3) });
      put(tip, { cx: x.toFixed(3), cy: (-y).toFixed(3) });
      const [a, b] = asked ?? [0, 0];
      put(query, { x2: a.toFixed(3), y2: (-b).toFixed(3) });
      root.classList.toggle("hydra-unasked", !asked);
      root.classList.toggle("hydra-on", own);
    },
  };
}

/** One rate for each pair. */
const valid = (trait, value, initial) => withinLimits(trait, value, initial) && (trait !== "rates" || value.length === PAIRS.length);

export default { render, valid };
