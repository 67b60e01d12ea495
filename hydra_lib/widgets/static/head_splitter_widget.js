import { parameters, refusal, shapes } from "./heads.js";
import { withinLimits } from "./limits.js";
import { choice, columnHeads, el, field, follow, grouped, say, slider, table, ungrouped, update } from "./ui.js";

const PRESETS = {
  "base Transformer": [512, 8],
  "GPT-2 small": [768, 12],
  "GPT-2 XL": [1600, 25],
};
const FINEST = 128; // more cuts than this cannot be told apart
const [B, T] = [2, 5];

function render({ model, el: root }) {
  const limits = model.get("limits");
  const controls = Object.entries({ d_model: { min: 8, max: 2048, step: 8 }, n_heads: { min: 1, max: 64 } })
    .map(([trait, range]) => {
      const set = (value) => update(model, { [trait]: value });
      return [trait, slider(trait, range, set), field(`or type ${trait}`, (text) => read(trait, text, limits[trait].max), set)];
    });
  const preset = choice("Preset", [["", "your own", true], ...Object.keys(PRESETS).map((k) => [k, k])], (name) => {
    if (name) update(model, { d_model: PRESETS[name][0], n_heads: PRESETS[name][1] });
  });

  const problem = el("p", { class: "hydra-problem hydra-misfit", role: "alert" });
  const caption = el("figcaption");
  const bar = el("div", { class: "hydra-heads", "aria-hidden": "true" });
  const steps = table(`Shapes in five steps, B = ${B} and T = ${T}`, 5, 2, (i) =>
    ["project", "split", "attend", "merge", "W_O"][i]);
  columnHeads(steps, "step", ["what happens", "shape"]);
  steps.root.classList.add("hydra-steps");
  const summary = el("p", { role: "status" });
  const shown = el("figure", { class: "hydra-figure" }, caption, bar);
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" },
      ...controls.flatMap(([, slide, typed]) => [slide.root, typed.root]), preset.root),
    shown, el("div", { class: "hydra-summary", style: "--lines:2;--narrow:5" }, problem, summary),
    el("div", { class: "hydra-panels" }, steps.root),
  );

  return follow(model, ["d_model", "n_heads"], () => {
    const [d, h] = [model.get("d_model"), model.get("n_heads")];
    for (const [trait, slide, typed] of controls) {
      slide.set(model.get(trait), String(model.get(trait)));
      typed.set(String(model.get(trait)));
    }
    preset.select.value = Object.keys(PRESETS).find((k) => PRESETS[k][0] === d && PRESETS[k][1] === h) ?? "";
    say(problem, refusal(d, h));
    // What does not divide keeps the room of what did, so that nothing below it moves.
    const refused = problem.textContent !== "";
    steps.root.classList.toggle("hydra-away", refused);
    const [headDim, over] = [Math.floor(d / h), d % h];
    say(caption, `d_model = ${d} ${d === 1 ? "number" : "numbers"} per position, ${h} × ${refused ? `${headDim}, and ${over} left over` : `head_dim = ${headDim}`}`
      + (h > FINEST ? " (cuts too fine to draw)" : ""));
    bar.style = `--share:${h > FINEST ? 100 : (100 * headDim) / d || 100}%;--over:${(100 * over) / d}%`;
    if (refused) {
      say(summary, "");
      return;
    }
    const at = shapes(d, h, B, T);
    const text = (name) => `(${at[name].join(", ")})`;
    [
      ["q = x W_Q; k, v likewise", text("q")],
      ["view, then transpose", text("q_heads")],
      [`weights ${text("weights")} @ v`, text("heads")],
      ["transpose, then flatten", text("merged")],
      ["merged @ W_O", text("output")],
    ].forEach((words, i) => words.forEach((word, c) => {
      say(steps.cells[i][c], word);
    }));
    say(summary, `head_dim = ${d} / ${h} = ${headDim}. W_Q, W_K, W_V and W_O hold 4 × ${d}² = `
      + `${grouped(parameters(d))} parameters, however many heads share them.`);
  });
}

/** What a reader may type: the numbers the class takes, refused in the library's words. */
function read(trait, text, most) {
  const value = text.trim() === "" ? NaN : Number(ungrouped(text));
  if (!(Number.isInteger(value) && value >= 1)) {
    throw new Error(`${trait} must be a positive integer, got ${text.trim() || "nothing"}`);
  }
  if (value > most) throw new Error(`${trait} is at most ${most} here, got ${value}`);
  return value;
}

export default { render, valid: withinLimits };
