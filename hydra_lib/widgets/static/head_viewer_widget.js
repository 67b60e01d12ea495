import { withinLimits } from "./limits.js";
import { annotate, chance, examine, opening, randomDocument, SYMBOLS } from "./toy_language.js";
import { forward, predict, readModel } from "./toy_model.js";
import {
  checkbox, columnHeads, el, field, follow, heat, put, roving, svg, table, update,
} from "./ui.js";

const ASKED = { induction: "a word seen before", bracket: "a closing bracket", entity: "a star" };
const LOOK_UPS = Object.keys(ASKED);
const ON = -1; // no head is off
const SHADES = 5; // of a weight in a picture in small
const FAINT = 0.005; // a weight below is 0.00 and not drawn
const NOTICED = 0.05; // a weight below is not printed under its symbol
const LETTER = 8; // width of one in a head's name, about, in pixels
const RISE = 22; // of an arc's handles above the symbols, in pixels
const HIGHEST = 64; // of a long one's over the first line, where there is room
const DRAWN = 27; // symbols of a drawn document: one line of a desktop page, three of a phone
const GUESSES = 3;
const PLAYED = 0.5; // a score from which on a head is said to play a role
const rolesOf = (scores) => Object.keys(scores).filter((role) => !role.includes(",")); // hard cases are no role
const share = (x) => x.toFixed(2);
/** Every document starts with ^; whoever leaves it out means it. */
const meant = (text) => (text.startsWith("^") || text === "" ? text : `^${text}`);
const called = (layer, head) => `${layer}.${head}`;
const sign = (symbol) => el("b", { class: "hydra-symbol" }, symbol);
const sentence = (...parts) => el("span", {}, ...parts);

function render({ model, el: root }) {
  const learned = readModel(model.get("weights"));
  const scores = model.get("scores");
  const heads = learned.heads;
  let hovered; // the position under the pointer
  const choose = (position) => {
    hovered = undefined;
    update(model, { position });
    draw();
  };
  const point = (position) => {
    if (position === hovered) return;
    hovered = position;
    draw();
  };
  const show = (text, position, others = {}) => {
    hovered = undefined;
    update(model, { text, position, ...others });
  };

  const picker = headPicker(scores, (layer, head) => update(model, { layer, head }));
  const game = guessing(scores, (change) =>
    update(model, { guesses: change(model.get("guesses"), model.get("layer"), model.get("head")) }),
  () => picker.focus());
  const asked = asking((job) => choose(nextOf(job)));
  const strip = symbolStrip({ choose, point });
  const typed = field("Type your own", (text) => {
    const { legal, problem } = examine(meant(text));
    // What is under way is looked at from the symbol before the cursor.
    const before = meant(text).length - text.length + typed.input.selectionStart - 1;
    if (legal.length > 1) show(legal, Math.max(0, Math.min(legal.length - 1, before)));
    const silent = !text.startsWith("^") && problem.startsWith("text must have") && text ? ", with the ^ in front" : "";
    if (problem) throw new Error(problem + silent);
  }, () => {});
  for (const [name, value] of Object.entries({ spellcheck: false, autocapitalize: "off", autocomplete: "off" })) {
    typed.input.setAttribute(name, value);
  }
  typed.input.addEventListener("input", () => typed.input.dispatchEvent(new Event("change")));
  typed.root.classList.add("hydra-document");
  const another = el("button", {
    type: "button",
    onclick: () => {
      const seed = model.get("seed") === model.get("limits").seed.max ? 0 : model.get("seed") + 1;
      const text = randomDocument(seed, DRAWN);
      show(text, opening(text), { seed });
    },
  }, "another document");
  const told = el("p", { class: "hydra-told", "aria-live": "polite" });
  const map = attentionMap({ choose, point });
  const own = () => model.get("layer") * heads + model.get("head");
  const off = checkbox("switch this head off", (value) => update(model, { off: value ? own() : ON }));
  const guesses = guessTable();
  const tally = el("p", { class: "hydra-note hydra-tallied hydra-held", style: "--lines:2;--narrow:4", "aria-live": "polite" });
  const roles = roleTable(Object.keys(scores));
  root.classList.add("hydra", "hydra-learned");
  root.append(
    el("div", { class: "hydra-questions" }, asked.root, el("div", { class: "hydra-buttons" }, another)),
    strip.root,
    told, off.root,
    picker.root, tally,
    ...(model.get("guesses").every((guess) => guess === "told") ? [] : [game.root]),
    el("div", { class: "hydra-typing" }, typed.root,
      el("p", { class: "hydra-note" }, "For instance abcab, k(lm) or Cab*: what follows the last symbol? No word follows itself.")),
    el("details", {}, el("summary", {}, "All weights of this head, and what may come next"),
      el("div", { class: "hydra-panels" },
        map.root,
        el("div", { class: "hydra-wide" }, guesses.root, roles.root))),
  );

  // Runs are kept until the document changes: pointing computes nothing.
  let current; // {text, ids, notes, whole, without}
  const read = (text) => {
    if (current?.text === text) return;
    const ids = [...text].map((symbol) => SYMBOLS.indexOf(symbol));
    current = { text, ids, notes: annotate(text), whole: forward(learned, ids), without: new Map() };
    // What is refused stays, with the reason beside it, as long as what came before it is shown.
    const { legal, problem } = examine(meant(typed.input.value));
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
    const position = hovered ?? Math.min(model.get("position"), T - 1);
    const run = gone === ON ? whole : runWithout(gone);
    const without = gone === ON ? "" : called(Math.floor(gone / heads), gone % heads);
    const weights = run.weights[layer][head];
    const row = weights.subarray(position * T, position * T + T);
    const note = notes[position];
    const guessed = model.get("guesses");
    picker.draw(run.weights, T, position, note.answers, layer, head, gone, guessed);
    roles.root.classList.toggle("hydra-away", game.draw(layer, head, guessed, notes.some(({ job }) => job !== "none")));
    asked.draw(notes, note.job);
    const prior = priorLooks(run, layer, row, position, gone);
    strip.draw(row, position, note.answers, prior, hovered === undefined, gone === own());
    map.draw(`attention of layer ${layer}, head ${head}`, weights, text, notes, position);
    off.input.checked = gone === own();
    off.root.lastChild.textContent = `switch this head off${without && gone !== own() ? `, and ${without} on again` : ""}`;
    const all = predict(whole, position, SYMBOLS.length);
    const now = predict(run, position, SYMBOLS.length);
    guesses.draw(text[position], now, without && all, without, note.choices);
    roles.draw(Object.values(scores).map((rows) => rows[layer][head]), layer, head);
    tally.textContent = count(current, run, without);
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

/** A button for each head, a row for each layer: its weights in small, the role it plays best and how well. */
function headPicker(scores, onChoose) {
  const layers = Object.values(scores)[0];
  const buttons = layers.map((heads, layer) => heads.map((_, head) => el("button", {
    type: "button", onclick: () => onChoose(layer, head), onfocus: () => onChoose(layer, head),
  }, svg("svg", { "aria-hidden": true }), el("span", {}, el("span", {}, called(layer, head)), el("span"), el("span")))));
  const rest = roving([buttons.flat()]); // whose rows a narrow page breaks
  const root = el("div", { class: "hydra-picker" }, ...buttons.map((row, layer) =>
    el("div", { role: "group", "aria-label": `layer ${layer}`, style: `--heads:${row.length}` },
      el("span", { class: "hydra-layer" }, `layer ${layer}`), ...row)));
  const asked = layers.flat().map(() => [
    svg("rect", { x: 0, height: 1, class: "hydra-query" }), svg("path", { class: "hydra-answered" })]);
  let drawn;
  const draw = (weights, T, position, answers, layer, head, gone, guessed) => {
    if (weights !== drawn) {
      drawn = weights;
      buttons.forEach((row, l) => row.forEach(({ firstChild }, h) =>
        inSmall(firstChild, weights[l][h], T, asked[l * row.length + h])));
    }
    for (const [row, cells] of asked) {
      put(row, { y: position, width: position + 1 });
      put(cells, { d: answers.map((j) => `M${j} ${position}h1v1h-1z`).join("") });
    }
    buttons.forEach((row, l) => row.forEach((button, h) => {
      const chosen = l === layer && h === head;
      const number = l * row.length + h;
      const guess = guessed[number];
      const leading = bestRole(scores, l, h);
      // A head may play two roles: its tile names the one that was seen.
      const role = scores[guess]?.[l][h] >= PLAYED ? guess : leading.role;
      const score = scores[role][l][h];
      const plays = score >= PLAYED;
      const known = isKnown(scores, l, h, guess);
      button.className = `hydra-head${known && !plays ? " hydra-idle" : ""}${number === gone ? " hydra-off" : ""}`;
      button.style.setProperty("--share", known ? `${(100 * score).toFixed(0)}%` : "0%");
      const name = plays ? role : "nothing";
      button.setAttribute("aria-label", `layer ${l}, head ${h}: ${!known ? "guess its role" : plays ? `${name} ${share(score)}` : name}`
        + (number === gone ? ", off" : ""));
      const [own, does, well] = button.lastChild.children;
      own.textContent = called(l, h) + (known && guess !== "told" ? " ✓" : "");
      does.textContent = known ? name : "?";
      well.textContent = known && plays ? share(score) : "";
      button.setAttribute("aria-pressed", chosen);
    }));
    rest(buttons[layer][head]);
  };
  return { root, draw, focus: () => buttons.flat().find((one) => one.tabIndex === 0).focus({ preventScroll: true }) };
}

/** All weights of a head, in a few shades: enough to tell one head from another. */
function inSmall(picture, weights, T, [row, answers]) {
  const cells = Array(SHADES + 1).fill("");
  weights.forEach((w, n) => {
    const shade = Math.round(w * SHADES);
    if (shade > 0) cells[shade] += `M${n % T} ${Math.floor(n / T)}h1v1h-1z`;
  });
  picture.setAttribute("viewBox", `0 0 ${T} ${T}`);
  picture.replaceChildren(past(T), ...cells.slice(1).map((d, n) =>
    svg("path", { d, class: "hydra-weight", opacity: (n + 1) / SHADES })), row, answers);
}

/** What T queries may see: the triangle of themselves and all before. */
function past(T) {
  const stairs = Array.from({ length: T }, (_, i) => `V${i}H${i + 1}`).join("");
  return svg("path", { class: "hydra-past", d: `M0 0${stairs}V${T}H0Z` });
}

/** The role that a head plays best, and how well. */
function bestRole(scores, layer, head) {
  const of = (role) => scores[role][layer][head];
  const role = rolesOf(scores).reduce((a, b) => (of(b) > of(a) ? b : a));
  return { role, score: of(role) };
}

/** A head may play two roles, and either is right; "nothing" is, where it plays none. */
function isRight(scores, layer, head, guess) {
  return guess === "nothing" ? bestRole(scores, layer, head).score < PLAYED : scores[guess][layer][head] >= PLAYED;
}

/** Told, or guessed right: until then the roles of a head are nowhere to be read. */
const isKnown = (scores, layer, head, guess) =>
  guess === "told" || (guess !== "?" && isRight(scores, layer, head, guess));

/** What the reader takes a head to do, and what it does. `set` is given how the guesses change. */
function guessing(scores, set, onFound) {
  const heads = Object.values(scores)[0][0].length;
  const words = [...rolesOf(scores), "nothing"];
  const known = (own, n) => isKnown(scores, Math.floor(n / heads), n % heads, own);
  // Buttons: with the arrow keys one would guess by moving among pills.
  const buttons = words.map((word) => el("button", {
    type: "button", onclick: () => set((guesses, layer, head) =>
      guesses.map((old, n) => (n === layer * heads + head ? word : old))),
  }, word));
  const guess = el("div", { class: "hydra-buttons", role: "group", "aria-label": "Your guess" }, el("span", {}, "Your guess"), ...buttons);
  const verdict = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:5", "aria-live": "polite" });
  const all = el("button", {
    type: "button", onclick: () => set((guesses) => guesses.map((old, n) => (known(old, n) ? old : "told"))),
  }, "name them all");
  const root = el("div", { class: "hydra-game" }, guess, el("div", { class: "hydra-buttons" }, all), verdict);
  const draw = (layer, head, guessed, asks) => {
    const own = guessed[layer * heads + head];
    const { role, score } = bestRole(scores, layer, head);
    const found = isKnown(scores, layer, head, own);
    const left = guessed.filter((one, n) => !known(one, n)).length;
    const focused = [...buttons, all].includes(root.getRootNode().activeElement);
    buttons.forEach((button, n) => {
      button.setAttribute("aria-pressed", own === words[n]);
      button.disabled = found;
    });
    all.disabled = left === 0;
    if (focused && root.getRootNode().activeElement?.disabled !== false) onFound(); // or the keyboard would be nowhere
    const at = (one) => share(scores[one][layer][head]);
    const [main, second] = rolesOf(scores).filter((one) => scores[one][layer][head] >= PLAYED);
    const wherever = "of its attention goes there, where there is something to find";
    const is = main ? `is ${main}: ${at(main)} ${wherever}${second ? `; and ${second}: ${at(second)}` : ""}`
      : `plays no role: at best ${role}, ${share(score)}`;
    verdict.textContent = own === "?" ? `What does head ${called(layer, head)} look for?${asks ? " The buttons at the top show it at work." : ""}`
      : found ? `Head ${called(layer, head)} ${is}.${own === "told" ? "" : " You were right."}`
        : `${own === "nothing" ? "It does something" : `Not ${own}: ${at(own)} ${wherever}`}. Guess again, or name them all.`;
    return !found; // what its roles are is not to be read elsewhere
  };
  return { root, draw };
}

/** The document as lines of buttons, shaded by the weights of one query, with an arc to each that it takes from. */
function symbolStrip({ choose, point }) {
  const root = el("div", { class: "hydra-symbols", role: "group", "aria-label": "document", onmouseleave: () => point(undefined) });
  const arcs = svg("svg", { class: "hydra-looks", "aria-hidden": "true" });
  let [buttons, rest] = [[], undefined];
  let places = []; // of the buttons, read when they are laid out and not before
  let shown = { row: [], position: 0, prior: [] };
  const observer = new ResizeObserver(() => {
    const { x, y } = root.getBoundingClientRect();
    places = buttons.map((one) => {
      const box = one.getBoundingClientRect();
      return { x: box.x + box.width / 2 - x, top: box.top - y, bottom: box.bottom - y };
    });
    join();
  });
  const join = () => {
    const to = places[shown.position];
    const taken = places.map((from, j) => [from, shown.row[j], j]).filter(([, w, j]) => w >= NOTICED && j < shown.position);
    arcs.replaceChildren(...taken.map(([from, w]) => svg("path", {
      d: look(from, to, to.top === places[0].top), "stroke-width": (1 + 9 * w).toFixed(2),
      class: to.top - from.bottom > from.bottom - from.top ? "hydra-across" : "",
    })), ...(places.length ? under(shown.prior) : []));
  };
  /** Where the layer before had looked: below the line, with the names of its heads where there is room. */
  const under = (prior) => {
    const oneLine = places.at(-1).top === places[0].top;
    const named = []; // the room that names have taken
    return prior.flatMap(({ from, to, heads }) => {
      const [start, end] = [places[from], places[to]];
      const d = start.top === end.top ? `M${start.x} ${start.bottom}C${start.x} ${start.bottom + RISE} ${end.x} ${start.bottom + RISE} ${end.x} ${start.bottom}`
        : look(start, end, false);
      const [name, x] = [heads.join(" "), (start.x + end.x) / 2];
      const half = LETTER * name.length / 2;
      const free = oneLine && named.every((other) => Math.abs(other.x - x) > half + other.half);
      if (free) named.push({ x, half });
      return [svg("path", { d, class: "hydra-prior" }), ...(free ? [svg("text", { x, y: start.bottom + RISE + 8 }, name)] : [])];
    });
  };
  const prepare = (text) => {
    buttons = [...text].map((symbol, i) => el("button", {
      type: "button", onclick: () => choose(i), onfocus: () => choose(i), onmouseenter: () => point(i),
    }, el("span", {}, symbol), el("small")));
    root.replaceChildren(arcs, ...buttons);
    root.style.setProperty("--symbols", buttons.length);
    root.classList.toggle("hydra-brief", buttons.length <= DRAWN);
    rest = roving([buttons]);
    places = [];
    observer.unobserve(root); // to be told of the new buttons even where the strip keeps its size
    observer.observe(root);
  };
  const draw = (row, position, answers, prior, settled, isOff) => {
    shown = { row, position, prior };
    root.classList.toggle("hydra-off", isOff);
    join();
    buttons.forEach((button, j) => {
      const symbol = button.firstChild.textContent;
      const weight = share(row[j]);
      heat(button, row[j]);
      button.lastChild.textContent = row[j] >= NOTICED ? weight : "";
      button.setAttribute("aria-current", j === position);
      button.classList.toggle("hydra-answer", answers.includes(j));
      button.classList.toggle("hydra-later", j > position);
      button.setAttribute("aria-label", `${j}: ${symbol}, ${j > position ? "later" : `weight ${weight}`}`
        + (answers.includes(j) ? ", the answer" : ""));
    });
    if (settled) rest(buttons[position]);
  };
  return { root, prepare, draw };
}

/** From a key to a query: over their line, or through the gaps between two. */
function look(from, to, first) {
  const level = from.top === to.top;
  const rise = level && first ? Math.min(HIGHEST, RISE + (to.x - from.x) / 6) : RISE;
  const [start, bend] = level ? [from.top, -rise] : [from.bottom, RISE];
  return `M${from.x} ${start}C${from.x} ${start + bend} ${to.x} ${to.top - rise} ${to.x} ${to.top}`;
}

/** All weights of a head: a row a query, a column a key. */
function attentionMap({ choose, point }) {
  const caption = el("figcaption");
  const picture = svg("svg", { role: "img" });
  const row = svg("rect", { x: 0, height: 1, class: "hydra-query" });
  const root = el("figure", { class: "hydra-map" }, caption, picture);
  let drawn, framed; // weights and answers of the picture
  const at = (event) => {
    const { top, height } = picture.getBoundingClientRect();
    const T = Math.sqrt(drawn.length);
    return Math.min(T - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * T)));
  };
  picture.addEventListener("pointermove", (event) => point(at(event)));
  picture.addEventListener("pointerleave", () => point(undefined));
  picture.addEventListener("click", (event) => choose(at(event)));
  const draw = (name, weights, text, notes, position) => {
    const T = text.length;
    row.setAttribute("y", position);
    row.setAttribute("width", position + 1);
    if (weights === drawn && notes === framed) return;
    [drawn, framed] = [weights, notes];
    const cell = (i, j, attributes) => svg("rect", { x: j, y: i, width: 1, height: 1, ...attributes });
    const cells = [...weights].flatMap((w, n) =>
      (w < FAINT ? [] : [cell(Math.floor(n / T), n % T, { class: "hydra-weight", opacity: w.toFixed(2) })]));
    const answers = notes.flatMap((note, i) => note.answers.map((j) => cell(i, j, { class: "hydra-answered" })));
    picture.setAttribute("viewBox", `-0.2 -0.2 ${T + 0.4} ${T + 0.4}`);
    picture.setAttribute("aria-label", `${name}: ${T} × ${T} weights, one row per query, one column per key`);
    picture.replaceChildren(past(T), ...cells, ...answers, row);
    caption.textContent = "All its weights: one row per query, one column per key. Framed: the answers.";
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
    grid.root.caption.textContent = `What comes after ${symbol}`;
    grid.root.querySelector("thead th").textContent = all ? `without ${without}` : "model";
    for (const cell of extra) cell.hidden = !all;
    const shown = best(now, GUESSES);
    if (all && !shown.includes(best(all, 1)[0])) shown.splice(-1, 1, best(all, 1)[0]); // what was lost
    shown.forEach((id, n) => {
      const [p, bar, before, rule] = grid.cells[n];
      heads[n].textContent = SYMBOLS[id];
      p.textContent = share(now[id]);
      bar.classList.add("hydra-bar");
      heat(bar, now[id]);
      before.textContent = all ? share(all[id]) : "";
      rule.textContent = share(chance(choices, SYMBOLS[id]));
    });
  };
  return { root: grid.root, draw };
}

/** How much of its attention a head puts where each role looks. */
function roleTable(names) {
  const grid = table("", names.length, 2, (n) => names[n]);
  grid.root.classList.add("hydra-roles");
  const draw = (values, layer, head) => {
    grid.root.caption.textContent = `Head ${called(layer, head)} in each role`;
    values.forEach((value, n) => {
      grid.cells[n][0].textContent = share(value);
      grid.cells[n][1].classList.add("hydra-bar");
      heat(grid.cells[n][1], value);
    });
  };
  return { root: grid.root, draw };
}

function best(values, count) {
  return Array.from(values.keys()).sort((a, b) => values[b] - values[a]).slice(0, count);
}

/** What is asked here, and where the answer stands. */
function wanted(text, position, { job, answers }) {
  if (job === "none") return sentence("After ", sign(text[position]), " the rules leave the next symbol to chance.");
  const [before, between, after] = {
    induction: ["if a word follows ", ", it is ", ", as before"],
    bracket: ["after ", " comes ", ", the word before the opening one"], entity: ["after ", " comes ", ", the latest name"],
  }[job];
  return sentence(`${job[0].toUpperCase()}${job.slice(1)}: ${before}`, sign(text[position]), between,
    sign(text[answers[0]]), `${after} (dashed).`);
}

/** The heads, but for one, that give most of their attention to where the answer stands. */
function lookers({ weights }, position, T, answers, gone) {
  return weights.flatMap((layer, l) => layer.flatMap((own, h) => {
    const mass = answers.reduce((total, j) => total + own[position * T + j], 0);
    return l * layer.length + h !== gone && mass >= PLAYED ? [called(l, h)] : [];
  }));
}

function outcome(text, { job, answers }, now, all, without, others) {
  const [guess] = best(now, 1);
  const who = all ? `Without ${without} the model expects ` : "The model expects ";
  const parts = [who, sign(SYMBOLS[guess]), ` (${share(now[guess])})`];
  if (job !== "none") {
    const answer = SYMBOLS.indexOf(text[answers[0]]);
    if (guess === answer) parts.push(": ", el("strong", {}, "right"));
    else parts.push(": ", el("strong", { class: "hydra-wrong" }, "wrong"), ", ", sign(SYMBOLS[answer]), ` gets ${share(now[answer])}`);
    if (all) parts.push(` (${share(all[answer])} with it)`);
    if (guess === answer && others.length) parts.push(`; ${listed(others)} still look${others.length > 1 ? "" : "s"} there`);
  }
  return sentence(...parts, ".");
}

function looks(text, position, { job, answers }, row, name) {
  const seen = best(row.subarray(0, position + 1), GUESSES).filter((j, n) => n === 0 || row[j] >= NOTICED);
  const parts = seen.flatMap((j, n) => [n ? ", " : "", sign(text[j]), ` ${share(row[j])}`]);
  const others = row.reduce((total, w) => total + w, 0) - seen.reduce((total, j) => total + row[j], 0);
  if (others >= NOTICED) parts.push(`, others ${share(others)}`);
  const mass = answers.reduce((total, j) => total + row[j], 0);
  return sentence(`Head ${name} looks at `, ...parts, job === "none" ? "." : `: ${share(mass)} on the answer.`);
}

/** Where heads of the layer before had looked from the two symbols that a head joins: [{from, to, heads}].
 * Not told: looks at oneself, which bring nothing from elsewhere, and at ^, which is the same in every document. */
function priorLooks({ weights }, layer, row, position, gone) {
  const [key] = best(row.subarray(0, position + 1), 1);
  if (layer === 0 || row[key] < PLAYED) return [];
  const T = row.length;
  return [...new Set([key, position])].flatMap((to) => {
    const found = new Map();
    weights[layer - 1].forEach((own, h, { length }) => {
      const at = own.subarray(to * T, to * T + T);
      const [from] = best(at, 1);
      if (at[from] < PLAYED || from === to || from === 0 || (layer - 1) * length + h === gone) return;
      found.set(from, [...(found.get(from) ?? []), called(layer - 1, h)]);
    });
    return [...found].map(([from, heads]) => ({ from, to, heads }));
  });
}

function toldPrior(text, layer, prior) {
  return sentence(`In layer ${layer}, `, ...prior.flatMap(({ from, to, heads }, n) => [
    ...(to === prior[n - 1]?.to ? [", at "] : [n ? "; " : "", sign(text[to]), n ? " at " : " had looked at "]),
    sign(text[from]), ` (${heads.join(", ")})`]), ".");
}

/** How many look-ups of the document the model gets right. */
function count({ text, notes, whole }, run, without) {
  const right = (one, job) => notes.filter((note, t) => note.job === job
    && SYMBOLS[best(predict(one, t, SYMBOLS.length), 1)[0]] === text[note.answers[0]]).length;
  const found = LOOK_UPS.flatMap((job) => {
    const asked = notes.filter((note) => note.job === job).length;
    if (asked === 0) return [];
    return [`${job} ${right(run, job)} of ${asked}${without ? ` (${right(whole, job)} with it)` : ""}`];
  });
  if (found.length === 0) return "This document asks for nothing yet.";
  return `Answers the model finds here${without ? ` without ${without}` : ""}: ${found.join(", ")}.`;
}

const listed = (names) => [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");

/** What a link may ask for; the document that it asks for may be longer than the page's. */
function valid(trait, value, initial) {
  if (trait === "text") return typeof value === "string" && examine(value).problem === "";
  if (trait === "guesses") return withinLimits(trait, value, initial) && value.length === initial.guesses.length;
  const [layers] = Object.values(initial.scores);
  const size = { layer: layers.length, head: layers[0].length, off: layers.length * layers[0].length }[trait] ?? Infinity;
  return withinLimits(trait, value, initial) && value < size;
}

export default { render, valid };
