import { trace } from "./attention.js";
import { decode, withinLimits } from "./limits.js";
import { changer } from "./trace_change.js";
import { rowDrawing } from "./trace_drawing.js";
import { brief, columnHeads, css, el, follow, heat, number, pills, roving, say, swatch, table, update } from "./ui.js";

const LABELS = { q: "Q", kT: "Kᵀ", v: "V" };
const ALL = -1; // the whole row or column
const SIGNS = { kT: "@", scores: "=", scaled: "→", masked: "→", weights: "→", v: "@", output: "=" };
const VERBS = [["compare", "scores"], ["scale", "scaled"], ["mask", "masked"], ["normalize", "weights"], ["mix", "output"]];

/** The step that makes a table, counted from 1; 0 for what is given. */
const stepOf = (name) => 1 + VERBS.findIndex(([, made]) => made === name);

const readTau = (model) => decode(model.get("temperature")) ?? Math.sqrt(model.get("q")[0].length);

/** Rows and columns of every table, in the order of the steps. */
function sizes({ q, k, v, mask }) {
  const scores = [q.length, k.length];
  return {
    q: [q.length, q[0].length], kT: [q[0].length, k.length], scores, scaled: scores,
    ...(mask ? { masked: scores } : {}),
    weights: scores, v: [k.length, v[0].length], output: [q.length, v[0].length],
  };
}

function parse(cell) {
  const [name, row, column] = cell.split(".");
  return { name, i: row - 1, j: column - 1 };
}

/** Whether all values are colours. */
const painted = (v) => v.every((row) => row.length === 3 && row.every((x) => x >= 0 && x <= 1));

// Which tables have a position a row, and which a position a column.
const MIXED = ["v", "output"];
const KEYED = ["kT", "v"]; // their positions are those of keys
const ROWS = ["q", "scores", "scaled", "masked", "weights", "v", "output"];
const COLUMNS = ["kT", "scores", "scaled", "masked", "weights"];
// Tables that on a phone stand beside one whose rows are the same positions: its names serve both.
const BESIDE = ["scaled", "masked", "v"];
const FIT = 3; // columns of each, for them to stand there
const GIVEN = { q: 1, kT: 1, v: 5 }; // the steps that take what no step makes
const BEGIN = ["scaled", "v"]; // with room, these begin a line: compare, then what is done to scores, then mix

function render({ model, el: root }) {
  const words = model.get("words");
  const colours = painted(model.get("v"));
  const spoken = speech(words, colours);
  const state = () => Object.fromEntries(["q", "k", "v", "mask"].map((name) => [name, model.get(name)]));
  const size = sizes(state());
  let hovered;
  /** Go to a step; the number that is explained goes along, as far as the table reaches. */
  const walk = (step) => {
    const [, name] = VERBS[step - 1];
    const { i, j } = parse(model.get("cell") || "scores.1.1");
    hovered = undefined;
    const [row, column] = [i, j].map((at, axis) => 1 + Math.min(at, size[name][axis] - 1));
    update(model, { step, cell: `${name}.${row}.${column}` });
  };
  const steps = pills("Step", VERBS.map(([verb], n) => [String(n + 1), `${n + 1} ${verb}`]), (n) => walk(Number(n)));
  steps.inputs.forEach((input, n) => {
    input.parentElement.hidden = !Object.hasOwn(size, VERBS[n][1]);
  });
  const there = VERBS.flatMap(([, made], n) => (Object.hasOwn(size, made) ? [n + 1] : []));
  const next = el("button", { type: "button", onclick: () => walk(there.find((step) => step > done) ?? 1) }, "next step");
  let done; // the last step whose table is filled
  let written = {}; // the numbers that stand in the tables
  const choose = (cell) => {
    hovered = undefined;
    update(model, { cell });
  };
  const tables = Object.entries(size).map(([name, [rows, columns]]) => {
    const grid = table("", rows, columns, (i) => headOf(words, name, ROWS, i));
    columnHeads(grid, "", Array.from({ length: columns }, (_, j) => headOf(words, name, COLUMNS, j, colours)));
    if (Object.hasOwn(SIGNS, name)) grid.root.dataset.sign = SIGNS[name];
    const dots = MIXED.includes(name) && colours ? grid.rows.map(() => swatch("none")) : [];
    grid.rows.forEach((row, i) => row.firstChild.append(...dots.slice(i, i + 1)));
    grid.root.classList.add("hydra-trace");
    grid.root.classList.toggle("hydra-beside", BESIDE.includes(name) && columns <= FIT);
    grid.root.classList.toggle("hydra-begin", BEGIN.includes(name));
    const buttons = grid.cells.map((cells, i) => cells.map((cell, j) => {
      const id = `${name}.${i + 1}.${j + 1}`;
      const hover = (target) => () => {
        hovered = target;
        draw();
      };
      const button = el("button", {
        type: "button", class: "hydra-toggle",
        onclick: () => choose(id), onfocus: () => choose(id),
        onmouseenter: hover(id), onmouseleave: hover(undefined),
      });
      cell.append(button);
      return button;
    }));
    return { name, ...grid, dots, buttons, rest: roving(buttons) };
  });
  let row = size.scores[0] - 1; // of the drawing
  const drawing = words.length && colours ? rowDrawing(words, model.get("v"), (i) => { // the same number, of another word
    const { name, j } = parse(model.get("cell"));
    choose(!name || KEYED.includes(name) ? `${VERBS[done - 1][1]}.${i + 1}.1` : `${name}.${i + 1}.${j + 1}`);
  }) : null;
  const summary = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:3", role: "status" });
  const code = el("code", { class: "hydra-python" });
  const change = changer(model, () => parse(model.get("cell")));
  const panels = el("div", { class: "hydra-panels" }, ...tables.map((t) => t.root));
  panels.addEventListener("keydown", change.key);
  change.reset.addEventListener("click", () => next.focus()); // it goes, and would take the focus along
  root.classList.add("hydra");
  root.append(el("div", { class: "hydra-groups" }, steps.root, next, change.reset),
    drawing ? el("div", { class: "hydra-traced" }, drawing.root, panels) : panels,
    el("div", { class: "hydra-sticky" }, summary, code, change.root));

  function draw() {
    const { q, k, v, mask } = state();
    const tau = readTau(model);
    const divisor = tau === Math.sqrt(q[0].length) ? `√${q[0].length}` : number(tau);
    const matrices = trace(q, k, v, mask, tau);
    const captions = {
      q: "Q: queries", kT: "Kᵀ: keys", scores: "scores = Q Kᵀ",
      scaled: `scaled = scores / ${divisor}`, masked: "masked", weights: `weights = softmax(${mask ? "masked" : "scaled"})`,
      v: "V: values", output: "output = weights V",
    };
    const cell = hovered ?? model.get("cell");
    const chosen = parse(cell);
    const { text, made } = cell === "" ? { text: "Point at a number to see what made it.", made: [] }
      : explain(chosen, matrices, mask, divisor, spoken);
    const step = model.get("step") === 3 && !mask ? 2 : model.get("step"); // without a mask there is no third
    done = Math.max(step, cell === "" ? 0 : stepOf(chosen.name));
    steps.set(String(done));
    say(next, done < VERBS.length ? "next step" : "begin again");
    // On a phone only what the step takes and makes is shown: with the drawing it is one screen. That is the last
    // step, unless the number that is explained is in none of its tables.
    const { name: at } = parse(model.get("cell"));
    const takes = { scores: ["q", "kT"], scaled: ["scores"], masked: ["scaled"], weights: [mask ? "masked" : "scaled"], output: ["weights", "v"] };
    const tablesOf = (step) => [...takes[VERBS[step - 1][1]], VERBS[step - 1][1]];
    const last = tablesOf(done);
    const seen = last.includes(at) ? last : tablesOf(stepOf(at) || GIVEN[at] || done);
    for (const { name, root: grid, cells, dots, buttons, rest } of tables) {
      grid.classList.toggle("hydra-resting", !seen.includes(name));
      grid.classList.toggle("hydra-first", name === seen[0]);
      say(grid.querySelector("caption"), captions[name]);
      grid.classList.toggle("hydra-later", stepOf(name) > done);
      grid.classList.toggle("hydra-latest", stepOf(name) === done);
      dots.forEach((dot, i) => dot.style.setProperty("--paint", css(matrices[name][i])));
      matrices[name].forEach((row, i) => row.forEach((x, j) => {
        const picked = name === chosen.name && i === chosen.i && j === chosen.j;
        if (written[name]?.[i][j] !== x) { // a number that stays costs the page no layout
          say(buttons[i][j], brief(x));
          buttons[i][j].setAttribute("aria-label", `${spoken.at(name, i, j)} = ${number(x)}`);
          if (name === "weights") heat(cells[i][j], x);
        }
        buttons[i][j].setAttribute("aria-current", picked);
        if (picked && hovered === undefined) rest(buttons[i][j]);
        cells[i][j].classList.toggle("hydra-source", made.some(([source, r, c]) =>
          source === name && (r === ALL || r === i) && (c === ALL || c === j)));
      }));
    }
    written = matrices;
    if (drawing) {
      const { name, i, j } = chosen;
      if (name && !KEYED.includes(name)) row = i;
      drawing.draw(row, name === "v" ? i : name === "q" || name === "output" || !name ? null : j, done, matrices);
    }
    say(summary, text);
    say(code, python(stepOf(chosen.name) || GIVEN[chosen.name] || done, model.get("temperature"), q[0].length, mask));
    const settled = parse(model.get("cell"));
    change.draw(settled.name && spoken.at(settled.name, settled.i, settled.j));
  }
  return follow(model, ["q", "k", "v", "mask", "temperature", "cell", "step"], draw);
}

const CHANNELS = ["red", "green", "blue"];
/** What stands over a column or beside a row: a word, a channel of a colour, or a number. */
const headOf = (words, name, along, n, colours = false) => (words.length && along.includes(name) ? words[n]
  : colours && along === COLUMNS && MIXED.includes(name) ? CHANNELS[n] : n + 1);

/** How a place is said: by the words that stand there, or by numbers. */
function speech(words, colours) {
  const spoken = words.length > 0;
  const row = (name, i) => (spoken ? headOf(words, name, ROWS, i) : `row ${i + 1}`);
  const column = (name, j) => (spoken ? headOf(words, name, COLUMNS, j, colours) : `column ${j + 1}`);
  return {
    at: (name, i, j) => `${LABELS[name] ?? name} (${row(name, i)}, ${column(name, j)})`,
    row: (i) => (spoken ? `the query “${words[i]}”` : `row ${i + 1}`),
    column: (j) => (spoken ? `the key “${words[j]}”` : `column ${j + 1}`),
    output: (j) => (spoken && colours ? `the ${CHANNELS[j]}` : `column ${j + 1}`),
    query: (i) => (spoken ? `“${words[i]}”` : `query ${i + 1}`),
    key: (j) => (spoken ? `“${words[j]}”` : `key ${j + 1}`),
  };
}

/** The line of Python that makes the table of a step. */
function python(step, temperature, d, mask) {
  const zeros = mask?.some((row) => !row.some(Boolean)) ? ".nan_to_num()" : ""; // of a row with nothing to attend to
  return [
    "scores = q @ k.mT", `scaled = scores / ${temperature ?? `sqrt(${d})`}`, "masked = scaled.masked_fill(~mask, -inf)",
    `weights = ${mask ? "masked" : "scaled"}.softmax(-1)${zeros}`, "output = weights @ v",
  ][step - 1];
}

/** A row times a column, written out. */
const factor = (x) => (x < 0 ? `(${number(x)})` : number(x));
const termByTerm = (row, column) => row.map((x, n) => `${factor(x)} × ${factor(column[n])}`).join(" + ");

/** The arithmetic of one number, and the cells it is made of (of a given one: those it enters). */
function explain({ name, i, j }, steps, mask, divisor, { at, row, column, output, query, key }) {
  const value = number(steps[name][i][j]);
  const columnOf = (matrix) => matrix.map((one) => one[j]);
  const before = mask ? "masked" : "scaled";
  const rules = {
    q: () => [`= ${value}, given; it enters every score of ${row(i)}.`, [["scores", i, ALL]]],
    kT: () => [`= ${value}, given; it enters every score of ${column(j)}.`, [["scores", ALL, j]]],
    v: () => [`= ${value}, given; times a weight, it goes into ${output(j)} of every output.`, [["output", ALL, j]]],
    scores: () => [`= ${termByTerm(steps.q[i], columnOf(steps.kT))} = ${value}`, [["q", i, ALL], ["kT", ALL, j]]],
    scaled: () => [`= ${number(steps.scores[i][j])} / ${divisor} = ${value}`, [["scores", i, j]]],
    masked: () => [mask[i][j] ? `= ${at("scaled", i, j)} = ${value}: ${query(i)} may attend to ${key(j)}.`
      : `= −∞: ${query(i)} may not attend to ${key(j)}.`, [["scaled", i, j]]],
    weights: () => [softmax(steps.masked[i], j, value), [[before, i, ALL]]],
    output: () => [`= ${termByTerm(steps.weights[i], columnOf(steps.v))} = ${value}`, [["weights", i, ALL], ["v", ALL, j]]],
  };
  const [text, made] = rules[name]();
  return { text: `${at(name, i, j)} ${text}`, made };
}

function softmax(row, j, value) {
  if (row.every((s) => s === -Infinity)) return "= 0: this query may attend to nothing, and gets zeros.";
  const powers = row.map((s) => `exp(${number(s)})`);
  return `= ${powers[j]} / (${powers.join(" + ")}) = ${value}`;
}

/** What a link may ask for; sizes, values and the mask are the page's own. */
function valid(trait, value, initial) {
  if (trait === "temperature" || trait === "step") return withinLimits(trait, value, initial);
  if (trait === "q" || trait === "k") {
    return withinLimits(trait, value, initial) && value.length === initial[trait].length
      && value[0].length === initial[trait][0].length;
  }
  if (trait !== "cell" || typeof value !== "string") return false;
  const { name, i, j } = parse(value);
  const [rows, columns] = Object.hasOwn(sizes(initial), name) ? sizes(initial)[name] : [0, 0];
  return value === "" || (i >= 0 && i < rows && j >= 0 && j < columns && value === `${name}.${i + 1}.${j + 1}`);
}

export default { render, valid };
