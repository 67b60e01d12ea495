import { product, weightMatrix } from "./aggregation.js";
import { withinLimits } from "./limits.js";
import { brief, choice, el, follow, heat, number, say, setChoice, slider, table, update } from "./ui.js";

const RULES = [
  ["sum", "running sum"],
  ["mean", "running mean"],
  ["window", "window"],
  ["decay", "decay"],
];
const SETS = {
  "Three columns": [[2, 8, 14], [4, 10, 16], [6, 12, 18]],
  "A single spike": [[0], [0], [1], [0], [0], [0]],
};

function render({ model, el: root }) {
  const given = model.get("given");
  const rule = choice("Rule", RULES, (value) => update(model, { rule: value }));
  const width = slider("Window width", { min: 1, max: 5 }, (value) => update(model, { width: value }));
  const rate = slider("Decay factor r", { min: 0, max: 1, step: 0.05 }, (value) =>
    update(model, { rate: value }));
  const row = slider("Output row", { min: 1, max: 5 }, (value) => update(model, { row: value - 1 }));
  const values = setChoice("Values", given, SETS, (data) =>
    update(model, { values: data, row: Math.min(model.get("row"), data.length - 1) }));
  const matrices = el("div", { class: "hydra-product hydra-recipe" });
  const sentence = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:3", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, rule.root, values.root, row.root,
      el("div", { class: "hydra-slot" }, width.root, rate.root)),
    matrices, sentence,
  );

  let drawn;
  let tables;
  const prepare = (data) => {
    drawn = JSON.stringify(data);
    const [T, d] = [data.length, data[0].length];
    tables = [
      table("weights", T, T), table("values", T, d), table("output", T, d),
    ];
    tables[1].cells.forEach((cells, j) => cells.forEach((cell, c) => {
      say(cell, number(data[j][c]));
    }));
    for (const index of [0, 2]) {
      tables[index].rows.forEach((tr, i) =>
        tr.addEventListener("click", () => update(model, { row: i })));
    }
    const sign = (text) => el("span", { class: "hydra-sign" }, text);
    matrices.replaceChildren(
      tables[0].root, sign("@"), tables[1].root, sign("="), tables[2].root);
    width.input.max = row.input.max = T;
  };

  return follow(model, ["rule", "width", "rate", "row", "values"], () => {
    const data = model.get("values");
    if (JSON.stringify(data) !== drawn) prepare(data);
    const reach = Math.min(model.get("width"), data.length); // wider than the text is no window
    const setting = { rule: model.get("rule"), width: reach, rate: model.get("rate") };
    const chosen = Math.min(model.get("row"), data.length - 1);
    const weights = weightMatrix(setting, data.length);
    const output = product(weights, data);
    rule.select.value = setting.rule;
    values.set(data);
    width.root.hidden = setting.rule !== "window";
    rate.root.hidden = setting.rule !== "decay";
    width.set(setting.width);
    rate.set(setting.rate);
    row.set(chosen + 1);
    weights.forEach((w, i) => w.forEach((weight, j) => {
      const cell = tables[0].cells[i][j];
      say(cell, brief(weight)); // five columns fit a phone
      heat(cell, weight);
    }));
    // The values the chosen row takes from are shaded as that row weighs them.
    weights[chosen].forEach((weight, j) => tables[1].cells[j].forEach((cell) => {
      heat(cell, weight);
    }));
    output.forEach((o, i) => o.forEach((value, c) => {
      say(tables[2].cells[i][c], number(value));
    }));
    for (const index of [0, 2]) {
      tables[index].rows.forEach((tr, i) => tr.classList.toggle("hydra-chosen", i === chosen));
    }
    const terms = weights[chosen]
      .map((weight, j) => (weight === 0 ? "" : `${number(weight)} × ${shown(data[j])}`))
      .filter(Boolean);
    say(sentence, `Output row ${chosen + 1} = ${terms.join(" + ")} = ${shown(output[chosen])}`);
  });
}

const shown = (row) => (row.length === 1 ? number(row[0]) : `(${row.map(number).join(", ")})`);

/** A row must be there, among the values that the link asks for or else the page's own. */
function valid(trait, value, initial, asked) {
  const { values } = withinLimits("values", asked.values, initial) ? asked : initial;
  return withinLimits(trait, value, initial) && (trait !== "row" || value < values.length);
}

export default { render, valid };
