import { product } from "./aggregation.js";
import { trace } from "./attention.js";
import { withinLimits } from "./limits.js";
import { featurePlane } from "./projection_plane.js";
import { rowDrawing } from "./trace_drawing.js";
import { brief, choice, columnHeads, el, follow, heat, pills, roving, say, slider, table, tidy, update } from "./ui.js";

const MATRICES = ["w_q", "w_k"];
const CAPTIONS = [["Q", ": what features (□) and words (●) ask for"], ["K", ": what they are found by; thick: the query"]];
const AMOUNTS = [0, 0.5, 1]; // of a feature, by a press

function render({ model, el: root }) {
  const [words, features, values] = ["words", "features", "values"].map((name) => model.get(name));
  const given = Object.fromEntries(["x", ...MATRICES].map((name) => [name, model.get(name)]));
  const { min, max } = model.get("limits").w_q;
  const causal = words.map((_, i) => words.map((_, j) => j <= i));
  let pointed = null; // the key whose row of the table is pointed at
  let chosen = ["w_q", largest(given.x[model.get("word")])]; // the arrow that the sliders turn
  const point = (j) => {
    pointed = j;
    draw();
  };
  const choose = (word) => word !== model.get("word") && update(model, { word });
  const change = (trait, row, changed) => update(model, { [trait]: model.get(trait).map((old, i) => (i === row ? changed : old)) });
  const turn = (trait) => (f, arrow) => change(trait, f, arrow.map((a) => Math.round(10 * Math.min(max, Math.max(min, a))) / 10));
  const pick = (trait) => (f) => {
    chosen = [trait, f];
    draw();
  };

  const drawing = rowDrawing(words, values, choose);
  const grid = table("X: what each word is; press to change", words.length, features.length, (j) => words[j]);
  columnHeads(grid, "", features);
  grid.root.classList.add("hydra-is");
  const buttons = grid.cells.map((cells, j) => cells.map((cell, f) => cell.appendChild(el("button", {
    type: "button", class: "hydra-toggle", onfocus: () => point(j), onblur: () => point(null),
    onclick: () => {
      const x = model.get("x")[j];
      const next = AMOUNTS.find((amount) => amount > x[f]) ?? 0;
      change("x", j, x.map((old, at) => (at === f ? next : old)));
    },
  }))));
  roving(buttons);
  grid.rows.forEach((tr, j) => tr.addEventListener("pointerenter", () => point(j)));
  grid.root.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && point(null));

  const planes = CAPTIONS.map(([below, means], at) => featurePlane({
    caption: ["W", el("sub", {}, below), means], features, words, values, turn: turn(MATRICES[at]), pick: pick(MATRICES[at]),
  }));
  // A phone has room for one of the planes at a time.
  const matrix = pills("Turn", MATRICES.map((trait, at) => [trait, ["queries", "keys"][at]]), (trait) => pick(trait)(chosen[1]));
  matrix.root.classList.add("hydra-one-plane");
  const arrow = choice("Arrow", [["w_q", "asks"], ["w_k", "is found"]].flatMap(([trait, does]) =>
    features.map((feature, f) => [`${trait}.${f}`, `${feature} ${does}`])), (value) => {
    const [trait, f] = value.split(".");
    pick(trait)(Number(f));
  });
  const axes = ["right", "up"].map((name, axis) => slider(name, { min, max, step: 0.1 }, (value) => {
    const [trait, f] = chosen;
    change(trait, f, model.get(trait)[f].map((a, at) => (at === axis ? value : a)));
  }));
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:6", role: "status" });
  root.classList.add("hydra");
  root.append(el("div", { class: "hydra-projected" }, drawing.root, matrix.root, ...planes.map((plane) => plane.root), grid.root,
    el("div", { class: "hydra-arrows" }, summary, arrow.root, ...axes.map((axis) => axis.root),
      el("div", { class: "hydra-buttons" }, el("button", { type: "button", onclick: () => update(model, given) }, "reset arrows and table")))));

  function draw() {
    const [x, wq, wk] = ["x", ...MATRICES].map((name) => model.get(name));
    const word = model.get("word");
    const vectors = [product(x, wq), product(x, wk)];
    const steps = trace(...vectors, values, causal, Math.SQRT2);
    const found = pointed ?? largest(steps.weights[word]);
    const shown = [word, found];
    drawing.draw(word, pointed, 5, steps);
    planes.forEach((plane, at) => {
      const [trait, f] = chosen;
      const on = trait === MATRICES[at];
      plane.root.classList.toggle("hydra-resting", !on);
      plane.draw({
        arrows: [wq, wk][at], vectors: vectors[at], shown: shown[at], x: x[shown[at]], asked: steps.q[word], chosen: on ? f : null,
      });
    });
    matrix.set(chosen[0]);
    buttons.forEach((row, j) => row.forEach((button, f) => {
      const said = x[j][f] === 0.5 ? "½" : brief(x[j][f]);
      say(button, x[j][f] ? said : "");
      button.setAttribute("aria-label", `${words[j]}, ${features[f]}: ${said}`);
      heat(grid.cells[j][f], 0.8 * x[j][f]);
    }));
    grid.rows.forEach((tr, j) => tr.classList.toggle("hydra-chosen", j === word));
    arrow.select.value = chosen.join(".");
    axes.forEach((axis, at) => axis.set(model.get(chosen[0])[chosen[1]][at]));
    const score = steps.scores[word][found];
    say(summary, `“${words[word]}” asks with ${sum(x[word], wq, vectors[0][word])}. “${words[found]}” is found by `
      + `${sum(x[found], wk, vectors[1][found])}. Their score: ${brief(tidy(score))}, over √2: ${brief(tidy(score / Math.SQRT2))}`
      + `${found > word ? "; but the key comes later." : "."}`);
  }
  /** The features of a word, added up. */
  function sum(x, arrows, total) {
    const terms = x.flatMap((share, f) => (share ? [`${share === 1 ? "" : `${share === 0.5 ? "½" : brief(share)} × `}${features[f]} ${pair(arrows[f])}`] : []));
    return terms.length === 0 ? "nothing, (0, 0)" : terms.length === 1 && x.includes(1) ? terms[0] : `${terms.join(" + ")} = ${pair(total)}`;
  }
  return follow(model, ["x", ...MATRICES, "word"], draw);
}

const largest = (row) => row.indexOf(Math.max(...row));
const pair = (arrow) => `(${arrow.map(brief).join(", ")})`;

export default { render, valid: withinLimits };
