import { scale } from "./chart.js";
import { readCheckpoints } from "./checkpoints.js";
import { headPicker } from "./head_viewer_heads.js";
import { pointing, symbolStrip } from "./head_viewer_strip.js";
import { called, looks, priorLooks, toldPrior, wanted } from "./head_viewer_told.js";
import { withinLimits } from "./limits.js";
import { annotate } from "./toy_language.js";
import { el, follow, grab, grouped, line, put, say, slider, svg, swatch, text, update } from "./ui.js";
import { walker } from "./walk.js";

const PAUSE = 200; // milliseconds between two checkpoints
const NONE = -1; // no head is off
const PAINT = { induction: "#d9822b", bracket: "#8f63b8", entity: "#5c8f3a" }; // as in the chapter's figures
const [WIDTH, HEIGHT] = [340, 150];
const [LEFT, RIGHT, TOP, BOTTOM] = [44, WIDTH - 16, 8, HEIGHT - 20];

function render({ model, el: root }) {
  const seen = model.get("seen");
  const { every, text: symbols, layers, heads } = seen;
  const { count, at } = readCheckpoints(seen);
  const last = (count - 1) * every;
  const notes = annotate(symbols);
  const told = Array(layers * heads).fill("told");
  const pointed = pointing(model, () => draw());
  const goTo = (step) => update(model, { step });

  const play = walker(model, "step", { last, step: every, pause: PAUSE, go: "play" });
  const steps = slider("Steps", { min: 0, max: last, step: every }, goTo);
  const picker = headPicker({ layers, heads }, (layer, head) => update(model, { layer, head }));
  const strip = symbolStrip(pointed);
  const words = el("p", { class: "hydra-told", role: "status" });
  const right = chart(Array.from({ length: count }, (_, index) => at(index).right), every, goTo);
  strip.prepare(symbols);
  root.classList.add("hydra", "hydra-checkpoints");
  root.append(
    el("div", { class: "hydra-along-time" }, el("div", { class: "hydra-buttons" }, play.button), steps.root),
    picker.root, strip.root,
    el("div", { class: "hydra-panels" }, el("div", { class: "hydra-wide" }, words), right.root),
  );

  let shown; // what was seen at the step that is drawn
  function draw() {
    const [step, layer, head] = ["step", "layer", "head"].map((name) => model.get(name));
    const position = pointed.at() ?? model.get("position");
    if (shown?.step !== step) shown = { step, ...at(step / every) };
    const { weights, scores } = shown;
    const T = symbols.length;
    const row = weights[layer][head].subarray(position * T, position * T + T);
    const prior = priorLooks(shown, layer, row, position, NONE);
    play.tell();
    steps.set(step);
    picker.draw(scores, weights, T, position, notes[position].answers, layer, head, NONE, told);
    strip.draw(row, position, notes[position].answers, prior, pointed.at() === undefined, false);
    right.draw(step, shown.right);
    words.replaceChildren(
      wanted(symbols, position, notes[position]),
      looks(symbols, position, notes[position], row, called(layer, head)),
      ...(prior.length ? [toldPrior(symbols, layer - 1, prior)] : []),
    );
  }
  return follow(model, ["step", "layer", "head", "position"], draw);
}

/** The share of each job answered right over the steps, with a line to drag where one is. */
function chart(all, every, onStep) {
  const last = (all.length - 1) * every;
  const [x, y] = [scale({ low: 0, high: last }, LEFT, RIGHT), scale({ low: 0, high: 1 }, BOTTOM, TOP)];
  const here = line(0, TOP, 0, BOTTOM, "hydra-gap");
  const handle = line(0, TOP, 0, BOTTOM, "hydra-target hydra-sideways");
  const jobs = Object.keys(PAINT); // a page may have sorted those of the state
  const values = jobs.map(() => el("output", { "aria-live": "off" }));
  const dots = jobs.map((job) => svg("circle", { r: 4, class: "hydra-spot", style: `--paint:${PAINT[job]}` }));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    ...[0, 0.5, 1].flatMap((share) => [line(LEFT, y(share), RIGHT, y(share), "hydra-grid"), text(LEFT - 6, y(share) + 4, percent(share), "end")]),
    ...[0, last / 2, last].map((step) => text(x(step), HEIGHT - 4, grouped(step), "middle")),
    line(LEFT, BOTTOM, RIGHT, BOTTOM, "hydra-base"),
    ...jobs.map((job) => svg("polyline", {
      class: "hydra-line", style: `stroke:${PAINT[job]}`,
      points: all.map((right, index) => `${x(index * every).toFixed(1)},${y(right[job]).toFixed(1)}`).join(" "),
    })),
    here, ...dots, handle);
  const move = (share) => {
    const step = every * Math.round(((share * WIDTH - LEFT) / (RIGHT - LEFT)) * (all.length - 1));
    onStep(Math.min(last, Math.max(0, step)));
  };
  grab(handle, picture, move, true);
  picture.addEventListener("click", (event) => {
    const { left, width } = picture.getBoundingClientRect();
    move((event.clientX - left) / width);
  });
  const root = el("figure", { class: "hydra-figure hydra-plot" },
    el("figcaption", {}, "Look-ups answered right, in documents it was not trained on"),
    el("p", { class: "hydra-legend" }, ...jobs.map((job, n) => el("span", {}, swatch(PAINT[job]), ` ${job} `, values[n]))),
    picture);
  const draw = (step, right) => {
    for (const one of [here, handle]) put(one, { x1: x(step), x2: x(step) });
    jobs.forEach((job, n) => {
      put(dots[n], { cx: x(step), cy: y(right[job]) });
      say(values[n], percent(right[job]));
    });
  };
  return { root, draw };
}

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

/** A link may ask for a step at which there is a checkpoint. */
function valid(trait, value, initial) {
  return withinLimits(trait, value, initial) && (trait !== "step" || value % initial.seen.every === 0);
}

export default { render, valid };
