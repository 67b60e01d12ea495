import { attentionMap, headPicker } from "./head_viewer_heads.js";
import { guessing, roleTable } from "./head_viewer_roles.js";
import { DRAWN, pointing, symbolStrip } from "./head_viewer_strip.js";
import {
  best, called, count, GUESSES, lookers, looks, outcome, priorLooks, share, toldPrior, wanted,
} from "./head_viewer_told.js";
import { withinLimits } from "./limits.js";
import { annotate, chance, examine, opening, randomDocument, SYMBOLS } from "./toy_language.js";
import { forward, predict, readModel } from "./toy_model.js";
import { checkbox, columnHeads, el, enable, field, follow, heat, say, table, update } from "./ui.js";

const ASKED = { induction: "a word seen before", bracket: "a closing bracket", entity: "a star" };
const ON = -1; // no head is off

function render({ model, el: root }) {
  const learned = readModel(model.get("weights"));
  const scores = model.get("scores");
  const heads = learned.heads;
  const pointed = pointing(model, () => draw());
  const show = (text, position, others = {}) => {
    pointed.leave();
    update(model, { text, position, ...others });
  };

  const picker = headPicker(learned, (layer, head) => update(model, { layer, head }));
  const game = guessing(scores, (change) =>
    update(model, { guesses: change(model.get("guesses"), model.get("layer"), model.get("head")) }),
  () => picker.focus());
  const asked = asking((job) => pointed.choose(nextOf(job)));
  const strip = symbolStrip(pointed);
  const typed = field("Type your own", (text) => {
    const { legal, problem } = examine(text);
    // What is under way is looked at from the symbol before the cursor.
    const before = typed.input.selectionStart - 1;
    if (legal.length > 1) show(legal, Math.max(0, Math.min(legal.length - 1, before)));
    if (problem) throw new Error(problem);
  }, () => {});
  for (const [name, value] of Object.entries({ spellcheck: false, autocapitalize: "off", autocomplete: "off" })) {
    typed.input.setAttribute(name, value);
  }
  typed.input.addEventListener("input", () => {
    // Every document starts with ^; whoever leaves it out means it, and goes on writing where the cursor is.
    const { value } = typed.input;
    if (value && !value.startsWith("^")) typed.input.setRangeText("^", 0, 0, "preserve");
    typed.input.dispatchEvent(new Event("change"));
  });
  typed.root.classList.add("hydra-document");
  const another = el("button", {
    type: "button",
    onclick: () => {
      const seed = model.get("seed") === model.get("limits").seed.max ? 0 : model.get("seed") + 1;
      const text = randomDocument(seed, DRAWN);
      show(text, opening(text), { seed });
    },
  }, "another document");
  const given = Object.fromEntries(["text", "position", "seed"].map((name) => [name, model.get(name)]));
  const first = el("button", {
    type: "button", onclick: () => model.get("text") !== given.text && show(given.text, given.position, { seed: given.seed }),
  }, "the first");
  const told = el("p", { class: "hydra-told", role: "status" });
  const map = attentionMap(pointed);
  const own = () => model.get("layer") * heads + model.get("head");
  const off = checkbox("switch this head off", (value) => update(model, { off: value ? own() : ON }));
  const guesses = guessTable();
  const tally = el("p", { class: "hydra-note hydra-tallied hydra-held", style: "--lines:2;--narrow:4", role: "status" });
  const roles = roleTable(Object.keys(scores));
  const more = el("details", { ontoggle: () => draw() }, el("summary", {}, "All weights of this head, and what may come next"),
    el("div", { class: "hydra-panels" },
      map.root,
      el("div", { class: "hydra-wide" }, guesses.root, roles.root)));
  root.classList.add("hydra", "hydra-learned");
  root.append(
    el("div", { class: "hydra-questions" }, asked.root, el("div", { class: "hydra-buttons" }, another, first)),
    strip.root,
    told, off.root,
    picker.root, tally,
    ...(model.get("guesses").every((guess) => guess === "told") ? [] : [game.root]),
    el("div", { class: "hydra-typing" }, typed.root,
      el("p", { class: "hydra-note" }, "For instance abcab, k(lm) or Cab*: what follows the last symbol? No word follows itself.")),
    more,
  );

  // Runs are kept until the document changes: pointing computes nothing.
  let current; // {text, ids, notes, whole, without}
  const read = (text) => {
    if (current?.text === text) return;
    const ids = [...text].map((symbol) => SYMBOLS.indexOf(symbol));
    current = { text, ids, notes: annotate(text), whole: forward(learned, ids), without: new Map() };
    // What is refused stays, with the reason beside it, as long as what came before it is shown.
    const { legal, problem } = examine(typed.input.value);
    if (legal !== text || !problem) typed.set(text);
    strip.prepare(text);
  };
  const runWithout = (number) => {
    const { ids, without } = current;
    if (!without.has(number)) {
      without.set(number, forward(learned, ids, { layer: Math.floor(number / heads), head: number % heads }));
    }
    return without.get(number);
  };
  /** The next symbol that asks for this, and from the last one the first. */
  const nextOf = (job) => {
    const places = current.notes.flatMap((note, t) => (note.job === job ? [t] : []));
    return places.find((t) => t > model.get("position")) ?? places[0];
  };

  function draw() {
    const [layer, head, gone] = ["layer", "head", "off"].map((name) => model.get(name));
    read(model.get("text"));
    const { text, notes, whole } = current;
    const T = text.length;
    // A link may ask for a shorter document than the position was chosen in.
    const position = pointed.at() ?? Math.min(model.get("position"), T - 1);
    const run = gone === ON ? whole : runWithout(gone);
    const without = gone === ON ? "" : called(Math.floor(gone / heads), gone % heads);
    const weights = run.weights[layer][head];
    const row = weights.subarray(position * T, position * T + T);
    const note = notes[position];
    const guessed = model.get("guesses");
    picker.draw(scores, run.weights, T, position, note.answers, layer, head, gone, guessed);
    roles.root.classList.toggle("hydra-away", game.draw(layer, head, guessed, notes.some(({ job }) => job !== "none")));
    asked.draw(notes, note.job);
    enable(first, text !== given.text);
    const prior = priorLooks(run, layer, row, position, gone);
    strip.draw(row, position, note.answers, prior, pointed.at() === undefined, gone === own());
    off.input.checked = gone === own();
    say(off.root.lastChild, `switch this head off${without && gone !== own() ? `, and ${without} on` : ""}`);
    const all = predict(whole, position, SYMBOLS.length);
    const now = predict(run, position, SYMBOLS.length);
    if (more.open) { // what is folded is drawn once it is opened
      map.draw(`attention of layer ${layer}, head ${head}`, weights, text, notes, position);
      guesses.draw(text[position], now, without && all, without, note.choices);
      roles.draw(Object.values(scores).map((rows) => rows[layer][head]), layer, head);
    }
    say(tally, count(current, run, without));
    told.replaceChildren(
      wanted(text, position, note),
      outcome(text, note, now, without && all, without, without ? lookers(run, position, T, note.answers, gone) : []),
      looks(text, position, note, row, called(layer, head)),
      ...(prior.length ? [toldPrior(text, layer - 1, prior)] : []),
    );
  }
  return follow(model, ["text", "layer", "head", "position", "off", "seed", "guesses"], draw);
}

/** A button for each job: to the next symbol that asks for it. */
function asking(onAsk) {
  const buttons = Object.entries(ASKED).map(([job, by]) => [job, el("button", { type: "button", onclick: () => onAsk(job) }, by)]);
  const root = el("div", { class: "hydra-buttons", role: "group", "aria-label": "What follows" },
    el("span", {}, "What follows"), ...buttons.map(([, button]) => button));
  const draw = (notes, asked) => {
    for (const [job, button] of buttons) {
      button.disabled = !notes.some((note) => note.job === job);
      button.setAttribute("aria-current", job === asked);
    }
  };
  return { root, draw };
}

/** The likeliest next symbols, as the model has them and as the rules do. */
function guessTable() {
  const grid = table("", GUESSES, 4, () => "");
  columnHeads(grid, "", ["model", "", "with", "rules"]);
  grid.root.classList.add("hydra-guesses");
  const extra = [grid.root.querySelector("thead th:nth-child(4)"), ...grid.cells.map((cells) => cells[2])];
  const heads = grid.rows.map((row) => row.querySelector("th"));
  const draw = (symbol, now, all, without, choices) => {
    say(grid.root.caption, `What comes after ${symbol}`);
    say(grid.root.querySelector("thead th"), all ? `without ${without}` : "model");
    for (const cell of extra) cell.hidden = !all;
    const shown = best(now, GUESSES);
    if (all && !shown.includes(best(all, 1)[0])) shown.splice(-1, 1, best(all, 1)[0]); // what was lost
    shown.forEach((id, n) => {
      const [p, bar, before, rule] = grid.cells[n];
      say(heads[n], SYMBOLS[id]);
      say(p, share(now[id]));
      bar.classList.add("hydra-bar");
      heat(bar, now[id]);
      say(before, all ? share(all[id]) : "");
      say(rule, share(chance(choices, SYMBOLS[id])));
    });
  };
  return { root: grid.root, draw };
}

/** What a link may ask for; the document that it asks for may be longer than the page's. */
function valid(trait, value, initial) {
  if (trait === "text") return typeof value === "string" && examine(value).problem === "";
  if (trait === "guesses") return withinLimits(trait, value, initial) && value.length === initial.guesses.length;
  const [layers] = Object.values(initial.scores);
  const size = { layer: layers.length, head: layers[0].length, off: layers.length * layers[0].length }[trait] ?? Infinity;
  return withinLimits(trait, value, initial) && value < size;
}

export default { render, valid };
