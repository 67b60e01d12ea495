import { trace } from "./attention.js";
import { withinLimits } from "./limits.js";
import { LENGTH, rateFor, turned } from "./rotary.js";
import { dot } from "./sentence.js";
import { rowDrawing } from "./trace_drawing.js";
import { brief, css, el, follow, grab, line, listed, put, say, slider, svg, text, update, weight } from "./ui.js";

const DIAL = 6; // how far a dial reaches to each side, in the units of its arrows
const HAND = 3.5; // radius of what takes the dot
const FURTHEST = 24; // words back, in the picture of scores
const STEP = 6; // between two numbers below it
const PICTURE = { width: 340, height: 200, left: 30, right: 12, top: 10, foot: 40 };
const PAIRS = ["First pair", "Second pair"];
const SAME = 1e-9; // weights that differ by less are the same but for rounding

function render({ model, el: root }) {
  const [words, values] = ["words", "values"].map((name) => model.get(name));
  const limits = model.get("limits");
  const causal = words.map((_, i) => words.map((_, j) => j <= i));
  const choose = (word) => word !== model.get("word") && update(model, { word });

  const turn = (p, rate) => update(model, { rates: model.get("rates").map((old, at) => (at === p ? rate : old)) });
  const rates = PAIRS.map((pair, p) => slider(`${pair} turns`, limits.rates, (rate) => turn(p, rate)));
  const back = slider("Looks back", limits.back, (words) => update(model, { back: words }));
  const start = slider("Text begins at", limits.start, (position) => update(model, { start: position }));

  const drawing = rowDrawing(words, values, choose);
  const positions = words.map(() => el("span", { class: "hydra-score", "aria-hidden": "true" }));
  const label = (words) => el("span", { class: "hydra-label", "aria-hidden": "true" }, words);
  const dials = PAIRS.map((_, p) => words.map((_, j) => dial(css(values[j]), () => choose(j), (angle) => {
    const rate = rateFor(angle, model.get("start") + j, model.get("rates")[p]);
    turn(p, Math.min(limits.rates.max, Math.max(limits.rates.min, rate)));
  })));
  drawing.root.append(...dials.flatMap((row, p) => [
    label(`${PAIRS[p].toLowerCase()} (wide: the query; thin: a key)`), ...row.map((one) => one.root)]), label("position"), ...positions);

  // As in the sentence, words further back stand further to the left.
  const { width, height, left, right, top, foot } = PICTURE;
  const most = (LENGTH ** 2 * PAIRS.length) / Math.sqrt(2 * PAIRS.length);
  const xOf = (distance) => width - right - ((width - left - right) * distance) / FURTHEST;
  const yOf = (score) => top + ((height - top - foot) * (most - score)) / (2 * most);
  const curve = svg("polyline", { class: "hydra-line" });
  const aim = line(0, top, 0, height - foot, "hydra-aimed");
  const spots = Array.from({ length: FURTHEST + 1 }, () => svg("circle", { class: "hydra-spot" }));
  const ticks = Array.from({ length: FURTHEST / STEP + 1 }, (_, i) => STEP * i);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    ...[-most, 0, most].map((score) => line(left, yOf(score), width - right, yOf(score), "hydra-grid")), aim, curve, ...spots,
    ...[-most, 0, most].map((score) => text(left - 8, yOf(score) + 4, String(score).replace("-", "−"), "end")),
    ...ticks.map((distance) => text(xOf(distance), height - foot + 17, distance, "middle")),
    text((left + width - right) / 2, height - 6, "← words back", "middle"));

  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:4", role: "status" });
  root.classList.add("hydra");
  root.append(el("div", { class: "hydra-placed" },
    drawing.root,
    el("div", { class: "hydra-controls" }, ...[...rates, back, start].map((control) => control.root)),
    summary,
    el("figure", { class: "hydra-plot" },
      el("figcaption", { class: "hydra-note" }, "scaled score of a key, by how far back it stands; filled: a word is there"), picture)));

  return follow(model, ["rates", "back", "start", "word"], () => {
    const [turns, set, first, word] = ["rates", "back", "start", "word"].map((name) => model.get(name));
    rates.forEach((control, p) => control.set(turns[p], `${Math.round(10 * turns[p]) / 10}°`));
    back.set(set);
    start.set(first);
    const queries = words.map((_, i) => turned(first + i - set, turns));
    const keys = words.map((_, j) => turned(first + j, turns));
    const steps = trace(queries, keys, values, causal, Math.sqrt(2 * PAIRS.length));
    drawing.draw(word, null, 5, steps);
    const weights = steps.weights[word].slice(0, word + 1);
    words.forEach((name, j) => drawing.buttons[j].setAttribute("aria-label",
      `${name}, position ${first + j}, ${j > word ? "later" : `gets ${written(weights[j])}`}`));
    dials.forEach((row, p) => row.forEach((one, j) => one.draw(
      keys[j].slice(2 * p, 2 * p + 2), j > word ? null : queries[word].slice(2 * p, 2 * p + 2), j === word, first + j > 0)));
    positions.forEach((item, j) => say(item, String(first + j)));

    const score = (distance) => dot(turned(-set, turns), turned(-distance, turns)) / Math.sqrt(2 * PAIRS.length);
    const fine = Array.from({ length: 20 * FURTHEST + 1 }, (_, i) => i / 20);
    put(curve, { points: fine.map((distance) => `${xOf(distance).toFixed(1)},${yOf(score(distance)).toFixed(1)}`).join(" ") });
    put(aim, { x1: xOf(set), x2: xOf(set) });
    spots.forEach((spot, distance) => {
      const there = distance <= word;
      put(spot, { cx: xOf(distance).toFixed(1), cy: yOf(score(distance)).toFixed(1), r: there ? 5.5 : 2.5 });
      spot.classList.toggle("hydra-hollow", !there);
      if (there) spot.style.setProperty("--paint", css(values[word - distance]));
    });
    say(summary, told(words, weights, word - set));
  });
}

/** What the last of these words gives to the one it looks at, and which of the others get most. */
function told(words, weights, aimed) {
  const word = weights.length - 1;
  const asks = `“${words[word]}”`;
  if (word === 0) return `${asks} is the first word: it sees only itself, and gets all weight.`;
  const [least, largest] = [Math.min(...weights), Math.max(...weights)];
  if (largest - least < SAME) return `${asks} scores all words alike, and each gets ${written(largest)}.`;
  const others = weights.map((_, j) => j).filter((j) => j !== aimed);
  const best = Math.max(...others.map((j) => weights[j]));
  const tied = others.filter((j) => best - weights[j] < SAME).map((j) => `“${words[j]}”`);
  const most = `${listed(tied)} ${tied.length > 1 ? `get most, ${written(best)} each` : `gets most, ${written(best)}`}.`;
  const back = word - aimed;
  const looks = `${asks} looks ${back ? `${back} ${back === 1 ? "word" : "words"} back` : "at itself"}`;
  if (aimed < 0) return `${looks}, where there is none: ${most}`;
  return `${looks}${back ? `, at “${words[aimed]}”` : ""}, which gets ${written(weights[aimed])} of its weight. ${others.length === 1
    ? `The rest, ${written(best)}, goes to ${tied[0]}.` : `Of the others ${most}`}`;
}

const written = (p) => (p % 1 ? weight(p) : brief(p));

/** A circle with the arrow of a key and, wide and behind it, that of the query. By its dot a hand turns the key:
 * `turn` is told the angle, in degrees. */
function dial(paint, press, turn) {
  const query = line(0, 0, 0, 0, "hydra-ask");
  const key = line(0, 0, 0, 0, "hydra-key");
  const handle = svg("circle", { class: "hydra-handle" });
  const tip = svg("circle", { r: 1.3, class: "hydra-keys", style: `--paint:${paint}` });
  const root = svg("svg", { viewBox: `${-DIAL - 1} ${-DIAL - 1} ${2 * DIAL + 2} ${2 * DIAL + 2}`, class: "hydra-dial", "aria-hidden": "true",
    onpointerdown: () => { held = false; }, onclick: () => held || press() },
    svg("circle", { r: DIAL, class: "hydra-rim" }), query, key, tip, handle);
  let held = false; // and turned: that is no press
  grab(handle, root, (x, y) => {
    held = true;
    turn((Math.atan2(1 - 2 * y, 2 * x - 1) * 180) / Math.PI);
  });
  return {
    root,
    draw([x, y], asked, own, turns) {
      put(key, { x2: x.toFixed(3), y2: (-y).toFixed(3) });
      for (const one of [tip, handle]) put(one, { cx: x.toFixed(3), cy: (-y).toFixed(3) });
      put(handle, { r: turns ? HAND : 0 }); // the arrow at position 0 stays at any rate
      const [a, b] = asked ?? [0, 0];
      put(query, { x2: a.toFixed(3), y2: (-b).toFixed(3) });
      root.classList.toggle("hydra-unasked", !asked);
      root.classList.toggle("hydra-on", own);
    },
  };
}

export default { render, valid: withinLimits };
