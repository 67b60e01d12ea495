// Energy levels to be dragged, the probability that stands on each, and particles that hop.
import { counts, hop } from "./particles.js";
import { uniforms } from "./random.js";
import { brief, columnHeads, el, grab, number, put, say, svg, table, weight } from "./ui.js";

const PARTICLES = 100;
const OFFERS = 12; // of every state to each particle, on average: one in e¹² never meets the lowest
const FRAMES = 180;
const COLUMN = 100; // a state's width in the picture
const SHELF = 84; // and how much of it a level takes
const ROOM = 270; // from top to bottom
const PILE = 90; // of all particles, or of p = 1
const THUMB = 32; // of a level, with what surrounds it to be held: as in ui.css
const LOWEST = -4; // energies a level can be dragged to, and further if one lies further
const HIGHEST = 2;

/** `lift(i, energy)` is told of a level that was dragged. */
export function levels(n, lift) {
  const rows = table(`Each state (key): its energy E, its probability p, and how many of ${PARTICLES} particles stand there`,
    3, n, (i) => ["E = −s", "p", `of ${PARTICLES}`][i]);
  const states = Array.from({ length: n }, (_, i) => i + 1);
  columnHeads(rows, "state", states);
  rows.root.classList.add("hydra-states");

  const exact = states.map(() => svg("rect", { width: SHELF, class: "hydra-exact" }));
  const piles = states.map(() => svg("path", { class: "hydra-particles" }));
  const holds = states.map(() => svg("rect", { width: SHELF, class: "hydra-hold" }));
  const picture = svg("svg", {
    viewBox: `0 0 ${COLUMN * n} ${ROOM}`, preserveAspectRatio: "none", "aria-hidden": "true",
  }, ...exact, ...piles, ...holds);
  // What stands on a level can be held as well as the level itself, wherever it is taken.
  holds.forEach((hold, i) => {
    let taken;
    hold.addEventListener("pointerdown", ({ clientY }) => {
      const { top, height } = picture.getBoundingClientRect();
      taken = { y: (clientY - top) / height, energy: shelves[i].valueAsNumber };
    });
    grab(hold, picture, (_, y) => {
      const [low, high] = ends;
      const energy = taken.energy + ((taken.y - y) * ROOM / (ROOM - PILE - THUMB)) * (high - low);
      lifted = true;
      lift(i, Math.round(10 * Math.min(high, Math.max(low, energy))) / 10);
    });
  });
  const shelves = states.map((state, i) => el("input", {
    type: "range", step: 0.1, "data-lm-suppress-shortcuts": "true", "aria-label": `energy of state ${state}`,
    oninput: (event) => {
      lifted = true;
      lift(i, event.target.valueAsNumber);
    },
  }));
  const note = el("p", { class: "hydra-note" }, "Drag a level up or down. ",
    el("button", { type: "button", onclick: () => start() }, "hop again"));
  const root = el("div", { class: "hydra-levels", style: `--states:${n}` },
    note, el("div", { class: "hydra-shelves" }, picture, ...shelves), rows.root);

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const random = uniforms(1953);
  const places = Array.from({ length: PARTICLES }, (_, i) => i % n);
  const tries = OFFERS * n * PARTICLES;
  const across = n > 8 ? 5 : 10; // particles side by side
  let now; // {scores, tau}
  let tops; // where each level stands, from above
  let ends; // of what a level can be dragged to
  let lifted = false; // by hand since the last drawing: the ends must not move under it
  let left = 0;
  let asked = 0;

  function run(some) {
    left -= some;
    hop(places, some, now.scores, now.tau, random);
    pile();
  }
  function step() {
    run(Math.min(left, Math.ceil(tries / FRAMES)));
    asked = left > 0 ? requestAnimationFrame(step) : 0;
  }
  function start(atOnce = still.matches) {
    left = tries;
    if (atOnce) run(left);
    else asked ||= requestAnimationFrame(step);
  }
  function pile() {
    counts(places, n).forEach((count, i) => {
      const dots = Array.from({ length: count }, (_, at) => {
        const x = COLUMN * i + (COLUMN - SHELF) / 2 + ((at % across) + 0.5) * (SHELF / across);
        const y = tops[i] - 2 - (Math.floor(at / across) + 0.5) * (PILE * across / PARTICLES);
        return `M${x.toFixed(1)} ${y.toFixed(1)}h.01`;
      });
      piles[i].setAttribute("d", dots.join(""));
      say(rows.cells[2][i], count);
    });
  }

  /** Levels and probabilities at these scores and this τ; at the first time the particles are settled. */
  function draw(scores, given, tau, p) {
    const first = now === undefined;
    const changed = !first && now.scores.some((s, i) => s !== scores[i]);
    const moved = changed || (!first && now.tau !== tau);
    now = { scores, tau };
    if (first || (changed && !lifted)) {
      const all = [...given, ...scores].filter(Number.isFinite).map((s) => -s);
      ends = [Math.min(LOWEST, ...all.map(Math.floor)), Math.max(HIGHEST, ...all.map(Math.ceil))];
    }
    lifted = false;
    const [low, high] = ends;
    const [top, bottom] = [PILE + THUMB / 2, ROOM - THUMB / 2];
    tops = scores.map((s) => (s === -Infinity ? top : bottom - ((-s - low) / (high - low)) * (bottom - top)));
    scores.forEach((s, i) => {
      const shelf = shelves[i];
      shelf.min = low;
      shelf.max = high;
      shelf.value = -s || 0;
      shelf.disabled = s === -Infinity; // and unseen
      shelf.setAttribute("aria-valuetext", number(-s || 0));
      say(rows.cells[0][i], brief(-s || 0));
      say(rows.cells[1][i], weight(p[i]));
      const x = COLUMN * i + (COLUMN - SHELF) / 2;
      put(exact[i], { x, y: tops[i] - 2 - PILE * p[i], height: PILE * p[i] });
      put(holds[i], { x, y: tops[i] - 10 - PILE * p[i], height: s === -Infinity ? 0 : 10 + PILE * p[i] });
    });
    if (first) start(true);
    else pile();
    if (moved) start();
  }
  return { root, draw };
}
