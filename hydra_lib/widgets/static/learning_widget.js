import { leisurely } from "./leisurely.js";
import { withinLimits } from "./limits.js";
import { answer, learning } from "./multihead.js";
import { columnHeads, css, el, follow, heat, say, slider, swatch, table, update } from "./ui.js";
import { walker } from "./walk.js";

function render({ model, el: root }) {
  const words = model.get("words");
  const values = model.get("values");
  const { max: last } = model.get("limits").step;

  let source; // what makes the layers of one seed, one after the other
  let layers = [];
  let made; // the seed
  const layerAt = (step) => {
    if (made !== model.get("seed")) {
      made = model.get("seed");
      [source, layers] = [learning(made, words.length), []];
      fill();
    }
    while (layers.length <= step) layers.push(source.next().value);
    return layers[step];
  };

  const fill = leisurely(() => {
    if (layers.length <= last) layerAt(layers.length);
    return layers.length > last;
  });

  const learn = walker(model, "step", { last, go: "learn", others: ["seed"] });
  const other = el("button", { type: "button", onclick: () =>
    update(model, { seed: (model.get("seed") + 1) % 2 ** 32, step: 0 }) }, "another start");
  const steps = slider("Steps", { min: 0, max: last }, (step) => update(model, { step }));

  const [given, wanted, shown] = [values, values, values].map((row) => row.map((value) => swatch(css(value))));
  wanted.forEach((one, t) => one.style.setProperty("--paint", t ? css(values[t - 1]) : "var(--line)"));
  wanted[0].classList.add("hydra-none");
  const label = (text) => el("span", { class: "hydra-label" }, text);
  const line = el("div", { class: "hydra-words" },
    label("what the layer gives"), ...given, label("wanted: the colour of the word before"), ...wanted,
    label("what it gets: a place and a colour"), ...shown, ...words.map((word) => el("span", {}, word)));
  const heads = [0, 1].map((i) => {
    const one = table(`head ${i}: weights, a row for each word`, words.length, words.length, (t) => words[t]);
    columnHeads(one, "", words.map((word) => el("span", { class: "hydra-aside" }, word)));
    one.root.classList.add("hydra-dense", "hydra-mixing");
    one.cells.forEach((cells, t) => cells.forEach((cell, j) => cell.classList.toggle("hydra-skipped", j > t)));
    return one;
  });
  const summary = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:5", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, el("div", { class: "hydra-buttons" }, learn.button, other), steps.root),
    el("div", { class: "hydra-panels hydra-repeating" }, el("div", {}, line, summary), ...heads.map((one) => one.root)),
  );

  return follow(model, ["step", "seed"], () => {
    const step = model.get("step");
    steps.set(step);
    learn.tell();
    const { given: colours, weights, off } = answer(layerAt(step), values);
    given.forEach((one, t) => one.style.setProperty("--paint", css(colours[t].map((c) => Math.min(1, Math.max(0, c))))));
    heads.forEach(({ cells }, i) => weights[i].forEach((row, t) => row.slice(0, t + 1).forEach((p, j) => {
      heat(cells[t][j], p);
      say(cells[t][j], p < 0.005 ? "" : p > 0.995 ? "1" : p.toFixed(2).slice(1));
    })));
    const before = weights.map((one) => one.slice(1).reduce((total, row, t) => total + row[t], 0) / (words.length - 1));
    say(summary, `After ${step} ${step === 1 ? "step" : "steps"} its colours are off by ${off.toFixed(2)}, where a full colour is 1. `
      + `Head 0 puts ${percent(before[0])} of its weight on the word before, head 1 puts ${percent(before[1])}.`);
  });
}

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

export default { render, valid: withinLimits };
