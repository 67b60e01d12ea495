import { scale, ticks } from "./chart.js";
import { descent, learning } from "./gradient.js";
import { withinLimits } from "./limits.js";
import { arc, LEAST, ribbons } from "./sentence.js";
import {
  brief, columnHeads, css, el, enable, follow, grab, heat, line, number, pills, put, say, slider, svg, swatch, table, tenths, text, update,
  weight, whenWide,
} from "./ui.js";

const RATE = 8; // of a step; the colours are small numbers, and so are their gradients
const ARCS = 220; // height of the arcs' picture, in pixels: of those to a word of the lowest score,
const UNIT = 9; // and what a word stands higher by for a score that is higher by 1
const PUSH = 80; // of the largest push, up or down
const LEARNT = 0.005; // a loss so small leaves little to learn
const RUN = 400; // steps of a run at most: a row that is sure of a wrong word may need thousands
const FRAMES = 100; // of a run at least, so that few steps can be followed
const RADIUS = 22; // of a word's disc, with its margin
const [BACK, AHEAD] = [100, 200]; // steps of which the loss is drawn
const [WIDTH, HEIGHT] = [340, 120]; // of that curve
const [LEFT, RIGHT, TOP, BOTTOM] = [40, WIDTH - 12, 8, HEIGHT - 22];

function render({ model, el: root }) {
  const words = model.get("words");
  const values = model.get("values");
  const most = model.get("limits").scores.max;
  const now = () => learning(model.get("scores"), values, values[model.get("target")]);
  const after = (steps) =>
    descent(model.get("scores"), values, values[model.get("target")], { rate: RATE, most, steps });
  const begin = {
    even: words.map(() => 0),
    "sure of “slept”": words.map((word) => (word === "slept" ? most : 0)),
  };

  const target = pills("Teach the row to be", model.get("targets").map((j) => [String(j), words[j]]),
    (value) => update(model, { target: Number(value) }));
  target.inputs.forEach((input, at) =>
    input.nextSibling.prepend(swatch(css(values[model.get("targets")[at]])), " "));
  // The loss before each step that led here; a row that comes in any other way begins anew.
  let taken = [];
  let arrived;
  const here = () => JSON.stringify([model.get("scores"), model.get("target")]);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const step = (times) => {
    const { losses, scores } = after(times);
    taken = [...taken, ...losses].slice(-BACK);
    const rounded = scores.map((s) => Math.round(1e4 * s) / 1e4);
    arrived = JSON.stringify([rounded, model.get("target")]);
    update(model, { scores: rounded });
  };
  let walking = 0; // the frame that is waited for
  const tell = () => {
    say(run, walking ? "stop" : "run");
    run.closest(".hydra")?.setAttribute("aria-busy", walking > 0); // who listens hears where it ends
  };
  const halt = () => {
    cancelAnimationFrame(walking);
    walking = 0;
    tell();
  };
  /** Several steps, one in so many frames; whatever else changes the row meanwhile ends them, and so do others. */
  const walk = (times, pause = 1) => {
    cancelAnimationFrame(walking);
    walking = 0;
    step(still.matches ? times : 1);
    if (!still.matches && times > 1) wait(times - 1, pause, pause);
    tell();
  };
  const wait = (times, pause, frames) => {
    walking = requestAnimationFrame(() => {
      if (here() !== arrived) halt();
      else if (frames > 1) wait(times, pause, frames - 1);
      else walk(times, pause);
    });
  };
  const button = (name, onclick) => el("button", { type: "button", onclick }, name);
  const run = button("run", () => {
    if (walking) return halt();
    const steps = after(RUN).losses.findIndex((loss) => loss <= LEARNT);
    if (steps < 0) walk(RUN);
    else if (steps > 0) walk(steps, Math.ceil(FRAMES / steps));
  });
  const group = (name, ...all) => el("div", { class: "hydra-buttons", role: "group", "aria-label": name },
    el("span", {}, name), ...all);
  const buttons = [
    group("Begin", ...Object.entries(begin).map(([name, scores]) => button(name, () => update(model, { scores })))),
    group("Take", button("one step", () => walk(1)), button("ten", () => walk(10)), run),
  ];

  const set = (j, value) => update(model, { scores: model.get("scores").map((s, i) => (i === j ? value : s)) });
  const sliders = words.map((word, j) => {
    const made = slider(word, { min: -most, max: most, step: 0.1 }, (value) => set(j, value));
    made.root.firstChild.prepend(swatch(css(values[j])), " ");
    return made;
  });
  const rows = table(`A row for each word: weight × pull = push on its score (bars of pushes are drawn larger); a step adds ${RATE} × the push`, words.length, 4);
  columnHeads(rows, "word and score", ["weight", "pull", "push"]);
  rows.cells.forEach((cells, j) => {
    cells[0].append(sliders[j].root);
    cells[1].className = "hydra-bar";
    cells[2].className = cells[3].className = "hydra-signed";
  });
  rows.root.classList.add("hydra-learning");

  // The book's sentence: forward the row of its last word, which may see all of them, mixes a colour;
  // backward each word's score is pushed.
  const row = words.length - 1;
  const across = `0 0 ${100 * words.length}`;
  const inColumn = (column, node) => {
    node.style.gridColumn = column + 1;
    return node;
  };
  const mix = inColumn(row, swatch(css(values[0])));
  const aim = inColumn(0, swatch(css(values[0])));
  aim.classList.add("hydra-aim");
  const paths = words.map((_, j) => ["hydra-casing", "hydra-paint"].map((kind) => svg("path", {
    class: kind, style: `--paint:${css(values[j])}`,
  })));
  const height = (score) => UNIT * (score + most);
  const discs = words.map((_, j) => {
    const disc = inColumn(j, swatch(css(values[j])));
    disc.classList.add("hydra-knob");
    disc.append(el("i"));
    let zero; // where the pointer would be at a score of 0
    disc.addEventListener("pointerdown", ({ clientY }) => { zero = clientY + UNIT * model.get("scores")[j]; });
    grab(disc, disc, (x, y, { clientY }) =>
      set(j, Math.round(10 * Math.min(most, Math.max(-most, (zero - clientY) / UNIT))) / 10));
    return disc;
  });
  const aimed = el("span", { class: "hydra-label" });
  const frame = { preserveAspectRatio: "none", "aria-hidden": "true" };
  const picture = el("div", { class: "hydra-words hydra-taught", "aria-hidden": "true" },
    aimed, aim, el("span", { class: "hydra-label hydra-aims" }, el("span", {}, "← target"), el("span", {}, "output →")), mix,
    svg("svg", { ...frame, viewBox: `${across} ${ARCS}`, class: "hydra-arcs" },
      ...words.map((_, j) => line(100 * j + 50, ARCS + RADIUS, 100 * j + 50, ARCS + RADIUS - height(most), "hydra-rail")), ...paths.flat()),
    ...discs, ...words.map((word) => el("span", {}, word)),
    el("span", { class: "hydra-label" }, "height: the score (drag it); bar: its push, enlarged"));

  // One scale for every step, so that a bar that shrinks is a number that shrinks. No pull is longer than the
  // square of the largest distance, D, between two colours. Two words push by p²(1 − p) D², at most 4/27 of it;
  // these seven were never seen to push by more. No loss is more than half of D².
  const squared = (u, v) => u.reduce((total, x, c) => total + (x - v[c]) ** 2, 0);
  const furthest = Math.max(...values.flatMap((u) => values.map((v) => squared(u, v))));
  const widest = { 2: furthest, 3: (4 / 27) * furthest };
  const ahead = curve(furthest / 2);
  const summary = el("p", { class: "hydra-summary", style: "--lines:6;--narrow:7", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, el("div", { class: "hydra-break" }, target.root),
      el("div", { class: "hydra-break hydra-groups" }, ...buttons)),
    el("div", { class: "hydra-lesson" }, picture, el("div", { class: "hydra-panels" }, ahead.root, summary)),
    el("div", { class: "hydra-panels" }, rows.root),
  );

  let unit = 1.5; // of the arcs' picture across, that make a pixel
  const draw = () => {
    const scores = model.get("scores");
    const { p, output, loss, pull, push } = now();
    target.set(String(model.get("target")));
    say(aimed, `loss ${small(loss)}: half the squared distance of the two`);
    paint(mix, output);
    paint(aim, values[model.get("target")]);
    const ways = ribbons(p);
    words.forEach((_, j) => {
      sliders[j].set(scores[j], tenths(scores[j]));
      const cells = rows.cells[j];
      say(cells[1], weight(p[j]));
      heat(cells[1], p[j]);
      const up = height(scores[j]);
      const one = ways[j];
      paths[j].forEach((path, kind) => {
        put(path, { d: arc(row, j, ARCS - up, unit * one.into), "stroke-width": kind ? one.paint : one.edge });
        path.classList.toggle("hydra-unseen", p[j] < LEAST);
      });
      discs[j].style.setProperty("--up", `${up.toFixed(1)}px`);
      discs[j].style.setProperty("--push", `${(PUSH * Math.abs(push[j]) / widest[3]).toFixed(1)}px`);
      discs[j].classList.toggle("hydra-less", push[j] < 0);
      for (const [place, value] of [[2, pull[j]], [3, push[j]]]) {
        say(cells[place], signed(value));
        const share = value / widest[place]; // below the number
        cells[place].style = `--from:${50 + 50 * Math.min(0, share)}%;--to:${50 + 50 * Math.max(0, share)}%`;
        cells[place].classList.toggle("hydra-less", value < 0);
      }
    });
    const { losses } = after(AHEAD + 1);
    enable(run, loss > LEARNT || walking);
    if (here() !== arrived) taken = [];
    ahead.draw(taken, losses);
    const strongest = Math.max(...push.map(Math.abs));
    const rising = words[push.indexOf(Math.max(...push))];
    say(summary, `${loss > LEARNT ? `Loss ${small(loss)}${halved(losses)}` : `Learned: loss ${small(loss)}`}. `
      + (strongest < 0.005 ? `No score is pushed by as much as 0.005: ${whyNot(loss, Math.max(...p))}`
        : `The step would raise “${rising}” most: its weight × pull is the largest. `
          + (rising === words[model.get("target")] ? ""
            : `More of it also brings the mixture nearer to “${words[model.get("target")]}”. `)
          + "What some scores gain, others lose: the pushes sum to 0."));
  };
  whenWide(picture.querySelector("svg"), 100 * words.length, (units) => {
    unit = units;
    draw();
  });
  return follow(model, ["scores", "target"], draw);
}

/** The loss of the steps taken, grey, and of those to come, from the scores as they stand; the dot is now. */
function curve(most) {
  const caption = el("figcaption", {}, "the loss: so far, now, and to come");
  const steps = { low: -BACK, high: AHEAD };
  const [x, y] = [scale(steps, LEFT, RIGHT), scale({ low: 0, high: most }, BOTTOM, TOP)];
  const [path, past] = ["hydra-line", "hydra-taken"].map((kind) => svg("polyline", { class: kind }));
  const dot = svg("circle", { class: "hydra-dot", r: 4, cx: x(0) });
  const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    ...ticks({ low: 0, high: most }, 4).flatMap((loss) => [
      line(LEFT, y(loss), RIGHT, y(loss), loss ? "hydra-grid" : "hydra-base"),
      text(LEFT - 6, y(loss) + 4, number(loss), "end")]),
    ...ticks(steps, 4).map((step) => text(x(step), BOTTOM + 15, when(step), step === AHEAD ? "end" : "middle")),
    past, path, dot);
  const points = (losses, from) => losses.map((loss, i) => `${x(from + i).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
  const draw = (taken, losses) => {
    past.setAttribute("points", points([...taken, losses[0]], -taken.length));
    path.setAttribute("points", points(losses, 0));
    dot.setAttribute("cy", y(losses[0]));
  };
  return { root: el("figure", { class: "hydra-figure hydra-plot" }, caption, plot), draw };
}

const when = (step) => (step < 0 ? `${-step} ago` : step ? `in ${step}` : "now");
const small = (loss) => (loss < 5e-4 ? "below 0.0005" : brief(loss));

/** How far the curve falls, in words. */
function halved(losses) {
  const steps = losses.findIndex((loss) => loss < losses[0] / 2);
  return steps < 0 ? `, and ${brief(losses[AHEAD])} after ${AHEAD} steps`
    : `, halved after ${steps} step${steps > 1 ? "s" : ""}`;
}

/** Why a row hardly learns: it is there, or looks at one word, or at words that lie no nearer. */
function whyNot(loss, largest) {
  if (loss <= LEARNT) return "the mixture has all but reached its target.";
  return largest > 0.95 ? "the row is sure, and wrong, and hardly learns."
    : "no word that the row looks at lies much further towards the target.";
}

const paint = (element, colour) => element.style.setProperty("--paint", css(colour));
/** Three decimals and a sign; what rounds to nothing says that it is rounded. */
const signed = (x) => (Math.abs(x) < 5e-4 ? "≈ 0" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`);

export default { render, valid: withinLimits };
