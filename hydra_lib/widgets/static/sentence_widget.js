import { positionOf, STEPS, temperatureAt } from "./boltzmann.js";
import { decode, encode, withinLimits } from "./limits.js";
import { abreast, arc, between, LEAST, mixed, ribbons, scoresOf, weightsOf } from "./sentence.js";
import { plane } from "./sentence_plane.js";
import { pots } from "./sentence_pots.js";
import {
  brief, columnHeads, css, el, follow, heat, pills, roving, say, slider, svg, swatch, table, tenths, update,
  vector, whenWide,
} from "./ui.js";

const RULES = [["mean", "running mean"], ["window", "window of 2"], ["decay", "decay ½"], ["attention", "attention"]];
const OWN = ["own", "yours: drag a value"];
const FUTURES = [["seen", "as they are"], ["zero", "0"], ["masked", "−∞"]];
const SETTINGS = ["rule", "parts", "future", "tau", "q", "k", "word", "head"];
const CHANNELS = ["red", "green", "blue"];
const HUES = ["205 45 45", "35 145 70", "50 100 215"]; // of three heads
const HEIGHT = 120; // of the arcs, in the units of their picture
const MILLISECONDS = 450;
const COLD = 70; // where the slider begins, at 0: up to there one word has all that is seen

function render({ model, el: root }) {
  const words = model.get("words");
  const values = model.get("values");
  const n = words.length;
  const several = () => weights.length > 1;
  const may = (control) => model.get("controls").includes(control);
  const choose = (word) => {
    if (word === model.get("word")) return;
    if (pointed !== word) [pointed, lit] = [null, null]; // arrow keys leave a resting mouse behind
    drawnWord = word;
    update(model, { word });
  };
  // From there the arrow keys go on.
  const pick = (word) => buttons[word].focus({ preventScroll: true });

  // What is pointed at, until the pointer leaves: a word, and a key that it takes from.
  let pointed = null;
  let lit = null;
  const point = (word, key) => {
    if (pointed === word && lit === key) return;
    if ([mixing, arrows].some((part) => part?.dropped()) && (key !== null || (word !== null && word !== pointed))) return;
    [pointed, lit] = [word, key];
    draw();
  };

  const rule = pills("Weights by", may("parts") ? [...RULES, OWN] : RULES, (value) => update(model, { rule: value }));
  const future = pills("Scores of later words", FUTURES, (value) => update(model, { future: value }));
  const tau = slider("Temperature τ", { min: COLD, max: STEPS }, (position) => {
    const value = temperatureAt(position > COLD ? position : 0);
    update(model, { tau: encode(value) });
  });
  tau.root.classList.add("hydra-ended"); // by a class, as below
  const scaled = el("span", { class: "hydra-scaled" });
  tau.input.replaceWith(scaled);
  scaled.append(tau.input, el("span", { class: "hydra-ends", "aria-hidden": "true" }, el("span", {}, "one alone"),
    el("span", { style: `--at:${(STEPS / 2 - COLD) / (STEPS - COLD)}` }, "1"), el("span", {}, "all alike")));
  const head = pills("Head", CHANNELS.map((channel, i) => [String(i), `${i}: ${channel}`]),
    (value) => update(model, { head: Number(value) }));
  head.inputs.forEach((input, i) => input.nextSibling.prepend(swatch(`rgb(${HUES[i]})`), " ")); // the key of its arcs
  const shown = { rule, future, tau, head };

  const outputs = words.map(() => swatch(css([0, 0, 0])));
  const buttons = words.map((word, i) => el("button", {
    type: "button", onclick: () => choose(i), onfocus: () => choose(i),
  }, word));
  const paints = words.map((_, j) => swatch(css(values[j])));
  const shares = words.map(() => el("span", { class: "hydra-share", "aria-hidden": "true" }));
  // What the temperature or the mask acts on, and what arrows make, is seen beside what becomes of it.
  const scores = ["tau", "arrows", "future"].some(may) ? words.map(() => el("span", { class: "hydra-score", "aria-hidden": "true" })) : [];
  const label = el("span", { class: "hydra-label" });
  const { min, max } = model.get("limits").parts;
  const arcs = svg("svg", {
    viewBox: `0 0 ${100 * n} ${HEIGHT}`, preserveAspectRatio: "none", class: "hydra-arcs", "aria-hidden": "true",
  });
  // A finger that is lifted has not gone elsewhere: what it touched stays lit until it touches something else.
  const leaving = (item, on) => item.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && on());
  const cast = (items, on) => items.forEach((item, i) => item.addEventListener("pointerenter", () => on(i)));
  const light = (item, j) => {
    item.addEventListener("pointerenter", () => point(pointed, j));
    leaving(item, () => point(pointed, null));
  };
  const mixing = may("parts") ? pots(model, words, paints) : null;
  cast(buttons, (i) => point(i, null));
  cast(outputs, (i) => point(i, null));
  outputs.forEach((item, i) => item.addEventListener("click", () => pick(i)));
  // A finger lights what it touches; a mouse lights what it is over, and presses to choose.
  if (!mixing) paints.forEach((item, j) => item.addEventListener("click", ({ pointerType }) => pointerType !== "touch" && pick(j)));
  for (const items of [paints, shares, scores]) items.forEach(light);
  const line = el("div", { class: "hydra-words", role: "group", "aria-label": "The sentence: arrow keys go from word to word" },
    el("span", { class: "hydra-label" }, "output"), ...outputs,
    arcs, ...paints, ...buttons, ...scores, ...shares, label);
  // A finger that slides along the sentence points at each word it meets, as a mouse does.
  line.addEventListener("pointerdown", (event) => event.target.releasePointerCapture?.(event.pointerId));
  line.addEventListener("pointerup", (event) => event.pointerType === "touch" && pointed !== null && choose(pointed));
  const rest = roving([buttons]);

  const matrix = table("weights: a row for each output", n, n + 1, (i) => words[i]);
  const seen = values.map((value) => swatch(css(value)));
  columnHeads(matrix, "", [
    ...words.map((word, j) => [el("span", { class: "hydra-aside" }, word), seen[j]]), model.get("q").length > n ? "all" : "mixed"]);
  seen.forEach(light);
  matrix.root.classList.add("hydra-dense", "hydra-mixing");
  matrix.cells.forEach((cells) => cells.slice(0, n).forEach((cell, j) => cell.style.setProperty("--paint", `var(--value-${j})`)));
  const mixes = matrix.cells.map((cells) => cells[n].appendChild(swatch(css([0, 0, 0]))));
  matrix.rows.forEach((tr, i) => {
    tr.addEventListener("click", () => pick(i));
    tr.addEventListener("pointerenter", () => point(i, null));
    matrix.cells[i].slice(0, n).forEach((cell, j) => cell.addEventListener("pointerenter", () => point(i, j)));
  });

  const sum = el("p", { class: `hydra-equation${may("future") ? " hydra-longer" : ""}`, role: "status" });
  const arrows = may("arrows") ? plane(model, words, values, (j) => point(pointed, j)) : null;
  root.classList.add("hydra", "hydra-sentence");
  const controls = el("div", { class: "hydra-controls hydra-wide-first" },
    ...Object.entries(shown).filter(([name]) => may(name)).map(([, control]) => control.root));
  root.append(
    controls,
    // Said by a class: while the page is still being read, :has() would change its mind.
    el("div", { class: `hydra-panels${arrows ? " hydra-turned" : ""}` },
      line, sum, matrix.root, ...(arrows ? [arrows.root] : [])),
  );
  // What was passed on the way through the table is not what was chosen.
  for (const part of [root, matrix.root]) leaving(part, () => point(null, null));
  // A finger that turned out to scroll the page has pointed at nothing. Its touch begins here, then at what it touches.
  let before = [pointed, lit];
  root.addEventListener("pointerenter", () => { before = [pointed, lit]; });
  root.addEventListener("pointercancel", () => point(...before));
  // At the controls nothing is pointed at, and what is turned is the query of the chosen word. On the way from a word
  // to its sum it stays.
  for (const part of [controls, ...(arrows ? [arrows.root] : [])]) part.addEventListener("pointerenter", () => point(null, null));

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let unit = 1.5; // of the arcs' picture across, that make a pixel
  let weights = weightsOf(setting(), n);
  let ways; // from, to and since when, while the weights are on their way
  let walking = 0; // the frame that is asked for: one way at a time
  function setting() {
    return {
      rule: model.get("rule"), parts: model.get("parts"), future: model.get("future"), tau: decode(model.get("tau")),
      q: model.get("q"), k: model.get("k"),
    };
  }
  let drawnRule = model.get("rule");
  let drawnFuture = model.get("future");
  let drawnWord = model.get("word");

  function draw() {
    const chosen = pointed ?? model.get("word");
    const own = Math.min(model.get("head"), weights.length - 1);
    const outs = mixed(weights, values);
    const arrived = ways?.to ?? weights; // numbers on their way would be nobody's weights
    // The head that is shown lies on top of the others, a thin arc on top of a wide one.
    const order = weights.map((_, h) => h).sort((a, b) => (a === own) - (b === own));
    const pointing = lit !== null && weights[own][chosen][lit] >= LEAST; // at an arc, and not where none is
    const targets = [];
    const paths = order.flatMap((h) => {
      const placed = ribbons(weights[h][chosen], h, weights.length);
      return downwards(weights[h][chosen], LEAST).flatMap(([, j]) => {
        const { into, paint, edge } = placed[j];
        const d = arc(chosen, j, HEIGHT, unit * into, several() ? unit * 11 * (h - 1) : 0, mixing?.behind(arcs, HEIGHT) ?? 0);
        const unlit = pointing && lit !== j;
        const path = (name, width) => svg("path", {
          d, class: name, "stroke-width": width.toFixed(2), "stroke-opacity": unlit ? 0.3 : 1,
          style: `--paint:${several() ? `rgb(${HUES[h]})` : css(values[j])}`,
        });
        const target = svg("path", { d, class: "hydra-target" });
        const inked = path(h === own ? "hydra-paint" : "hydra-paint hydra-faint", paint);
        for (const one of [target, inked]) {
          if (h === own) light(one, j);
          else one.addEventListener("click", () => update(model, { head: h }));
        }
        targets.push(target);
        return unlit || h !== own ? [inked] : [path("hydra-casing", edge), inked];
      });
    });
    // What is near an arc is it, too, where there is no other.
    arcs.replaceChildren(...targets, ...paths);
    const p = arrived[own][chosen];
    // What the mask takes, where the reader can lift it.
    const open = may("future") && model.get("rule") === "attention";
    const cut = open && model.get("future") === "masked"
      ? weightsOf({ ...setting(), future: "seen" }, n)[own][chosen].map((w, j) => (j > chosen ? w : 0)) : [];
    arcs.prepend(...downwards(cut, LEAST).map(([, j]) =>
      svg("path", { d: arc(chosen, j, HEIGHT, abreast(chosen, j)), class: "hydra-unweighed" })));
    const back = model.get("rule") !== "attention" || model.get("future") === "masked";
    const row = scores.length ? scoresOf(setting(), n)[own][chosen] : [];
    scores.forEach((item, j) => {
      say(item, row[j] === -Infinity && !open ? "" : tenths(row[j]));
    });
    // Weights that a reader makes by parts are written as such.
    const parts = model.get("parts");
    const of = model.get("rule") === "own" ? parts.slice(0, chosen + 1).reduce((total, part) => total + part, 0) : 0;
    say(label, `${of ? `parts (${min}–${max})` : "value"}, word,${scores.length ? " score," : ""} weight for “${words[chosen]}”${several() ? "; faint: the other heads" : ""}`);
    words.forEach((word, i) => {
      const takes = downwards(arrived[own][i], LEAST).slice(0, 3).map(([w, j]) => `${short(w)} of ${words[j]}`).join(", ");
      buttons[i].setAttribute("aria-pressed", i === chosen);
      buttons[i].setAttribute("aria-label", `${word}: takes ${takes}`);
      outputs[i].style.setProperty("--paint", css(outs[i]));
      paints[i].style.setProperty("--paint", part(values[i], own));
      outputs[i].classList.toggle("hydra-on", i === chosen);
      for (const item of [paints[i], shares[i]]) {
        item.classList.toggle("hydra-on", i === lit);
        item.classList.toggle("hydra-none", p[i] < LEAST);
      }
      shares[i].classList.toggle("hydra-leak", open && i > chosen && p[i] >= LEAST);
      say(shares[i], back && i > chosen ? "" : of ? `${parts[i]}/${of}` : short(p[i]));
      mixes[i].style.setProperty("--paint", css(outs[i]));
      matrix.rows[i].classList.toggle("hydra-chosen", i === chosen);
      arrived[own][i].forEach((w, j) => {
        const cell = matrix.cells[i][j];
        say(cell, w < LEAST ? "" : short(w));
        heat(cell, weights[own][i][j]);
        cell.classList.toggle("hydra-source", i === chosen && j === lit);
        cell.classList.toggle("hydra-skipped", back && j > i);
        cell.classList.toggle("hydra-leak", open && j > i && w >= LEAST);
      });
    });
    if (several()) say(matrix.root.caption, `weights of head ${own}: a row for each output`);
    seen.forEach((dot, j) => {
      for (const [node, name] of [[dot, "--paint"], [matrix.root, `--value-${j}`]]) node.style.setProperty(name, part(values[j], own));
    });
    tell(chosen, own, p, mixed(arrived, values)[chosen], open ? said(chosen, p, cut) : "");
    mixing?.draw();
    arrows?.draw(own, chosen, lit);
  }

  /** The terms of a sum, the largest first; while a hand changes them, each keeps its place. */
  const terms = (p) => (model.get("rule") === "own" ? downwards(p, LEAST).sort(([, i], [, j]) => i - j) : downwards(p, LEAST));
  /** The sum that makes the chosen output. */
  function tell(chosen, own, p, out, last) {
    const one = ([w, j]) => {
      const term = el("span", { class: `hydra-term${j === lit ? " hydra-on" : ""}` },
        `${short(w)} × `, swatch(part(values[j], own)), ` ${words[j]} `, el("small", {}, vector(slice(values[j], own))));
      light(term, j);
      return term;
    };
    sum.replaceChildren(
      el("strong", {}, words[chosen]), several() ? `, ${CHANNELS[own]} ≈ ` : " ≈ ",
      ...terms(p).flatMap((term, at) => [...(at ? [" + "] : []), one(term)]), " ",
      el("span", { class: "hydra-term hydra-total" }, "≈ ", swatch(part(out, own)), " ", el("small", {}, vector(slice(out, own)))),
      ...(several() ? [el("br"), "side by side: ", ...joined(out)] : []),
      ...(last ? [el("br"), last] : []),
    );
  }
  /** What later words have of a row, or what a mask has taken from it. */
  function said(chosen, p, cut) {
    if (chosen === n - 1) return `“${words[chosen]}” is the last word: there are no later ones.`;
    const [has, lost] = [p, cut].map((row) => row.slice(chosen + 1).reduce((total, w) => total + w, 0));
    if (!cut.length) return `Later words ${model.get("future") === "zero" ? "still " : ""}get ${has < LEAST ? "next to none" : short(has)} of the weight.`;
    if (lost < LEAST) return "";
    if (1 - lost < LEAST) return "Unmasked, nearly all would go to later words. The rest is scaled up to 1.";
    return `Unmasked, ${short(lost)} would go to later words. The ${short(1 - lost)} that stays is scaled up to 1.`;
  }
  /** What each head brings to the colour, and the colour. */
  const joined = (out) => {
    const whole = (...parts) => el("span", { class: "hydra-term hydra-total" }, ...parts);
    return [...out.map((x, head) => whole(swatch(part(out, head)), " ", el("small", {}, vector([x]).slice(1, -1)),
      head < out.length - 1 ? ", " : " ")), whole("→ ", swatch(css(out)), " ", el("small", {}, vector(out)))];
  };
  const slice = (value, own) => (several() ? [value[own]] : value);
  /** What a head sees of a colour: the more of its own, the stronger. */
  const part = (value, own) => (several() ? `rgb(${HUES[own]} / ${value[own].toFixed(3)})` : css(value));

  function settle() {
    const arrived = weightsOf(setting(), n);
    const moves = (model.get("rule") !== drawnRule || model.get("future") !== drawnFuture) && weights.length <= arrived.length;
    [drawnRule, drawnFuture] = [model.get("rule"), model.get("future")];
    // What a finger touched stays lit, but not when something else, a link, chooses a word.
    if (model.get("word") !== drawnWord) [drawnWord, pointed, lit] = [model.get("word"), null, null];
    const from = weights;
    ways = moves && !still.matches ? { from, to: arrived, since: performance.now() } : null;
    if (ways) walking ||= requestAnimationFrame(step);
    else weights = arrived;
    for (const [name, control] of Object.entries({ rule, future, head })) control.set(String(model.get(name)));
    const attends = model.get("rule") === "attention";
    const at = setting().tau;
    tau.set(Math.max(positionOf(at), at > 0 ? COLD + 1 : 0), brief(at));
    for (const input of [tau.input, ...future.inputs]) input.disabled = !attends;
    rest(buttons[model.get("word")]);
    draw();
  }
  /** Easing that starts and ends at rest. */
  function step(time) {
    walking = 0;
    if (!ways) return;
    const share = Math.min(1, Math.max(0, (time - ways.since) / MILLISECONDS));
    weights = between(ways.from, ways.to, share * share * (3 - 2 * share));
    if (share >= 1) ways = null;
    else walking = requestAnimationFrame(step);
    draw();
  }

  whenWide(arcs, 100 * n, (units) => {
    unit = units;
    draw();
  });
  return follow(model, SETTINGS, settle);
}

/** Weights of at least `least` and where they stand, the largest first. */
const downwards = (row, least) => row.map((w, j) => [w, j]).filter(([w]) => w >= least).sort(([a], [b]) => b - a);
const short = (w) => (w >= 0.995 ? "1" : w.toFixed(2).replace(/^0/, ""));

/** One size of both, of which the head that is shown is a part. */
function valid(trait, value, initial) {
  if (!withinLimits(trait, value, initial)) return false;
  if (trait === "q" || trait === "k") {
    return value.length === initial.q.length && value[0].length === 2;
  }
  return trait !== "head" || value < initial.q.length / initial.words.length;
}

export default { render, valid };
