// What the head viewer says of a document, a head and a symbol.
import { SYMBOLS } from "./toy_language.js";
import { predict } from "./toy_model.js";
import { el, listed } from "./ui.js";

const LOOK_UPS = ["induction", "bracket", "entity"];
const HALF = 0.5; // of its attention: from there on a head looks somewhere
export const NOTICED = 0.05; // a weight below is not printed under its symbol
export const GUESSES = 3;
export const share = (x) => x.toFixed(2);
export const called = (layer, head) => `L${layer}H${head}`;
const sign = (symbol) => el("b", { class: "hydra-symbol" }, symbol);
const sentence = (...parts) => el("span", {}, ...parts);

export function best(values, count) {
  return Array.from(values.keys()).sort((a, b) => values[b] - values[a]).slice(0, count);
}

/** What is asked here, and where the answer stands. */
export function wanted(text, position, { job, answers }) {
  if (job === "none") return sentence("After ", sign(text[position]), " the rules leave the next symbol to chance.");
  const [before, between, after] = {
    induction: ["if a word follows ", ", it is ", ", as before"],
    bracket: ["after ", " comes ", ", the word before the opening one"], entity: ["after ", " comes ", ", the latest name"],
  }[job];
  return sentence(`${job[0].toUpperCase()}${job.slice(1)}: ${before}`, sign(text[position]), between,
    sign(text[answers[0]]), `${after} (dashed).`);
}

/** The heads, but for one, that give most of their attention to where the answer stands. */
export function lookers({ weights }, position, T, answers, gone) {
  return weights.flatMap((layer, l) => layer.flatMap((own, h) => {
    const mass = answers.reduce((total, j) => total + own[position * T + j], 0);
    return l * layer.length + h !== gone && mass >= HALF ? [called(l, h)] : [];
  }));
}

export function outcome(text, { job, answers }, now, all, without, others) {
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

export function looks(text, position, { job, answers }, row, name) {
  const seen = best(row.subarray(0, position + 1), GUESSES).filter((j, n) => n === 0 || row[j] >= NOTICED);
  const parts = seen.flatMap((j, n) => [n ? ", " : "", sign(text[j]), ` ${share(row[j])}`]);
  const others = row.reduce((total, w) => total + w, 0) - seen.reduce((total, j) => total + row[j], 0);
  if (others >= NOTICED) parts.push(`, others ${share(others)}`);
  const mass = answers.reduce((total, j) => total + row[j], 0);
  return sentence(`Head ${name} looks at `, ...parts, ".", ...(job === "none" ? [] : [" On the answer: ", el("strong", {}, share(mass)), "."]));
}

/** Where heads of the layer before had looked from the two symbols that a head joins: [{from, to, heads}].
 * Not told: looks at oneself, which bring nothing from elsewhere, and at ^, which is the same in every document. */
export function priorLooks({ weights }, layer, row, position, gone) {
  const [key] = best(row.subarray(0, position + 1), 1);
  if (layer === 0 || row[key] < HALF) return [];
  const T = row.length;
  return [...new Set([key, position])].flatMap((to) => {
    const found = new Map();
    weights[layer - 1].forEach((own, h, { length }) => {
      const at = own.subarray(to * T, to * T + T);
      const [from] = best(at, 1);
      if (at[from] < HALF || from === to || from === 0 || (layer - 1) * length + h === gone) return;
      found.set(from, [...(found.get(from) ?? []), called(layer - 1, h)]);
    });
    return [...found].map(([from, heads]) => ({ from, to, heads }));
  });
}

export function toldPrior(text, layer, prior) {
  return sentence(`In layer ${layer}, `, ...prior.flatMap(({ from, to, heads }, n) => [
    ...(to === prior[n - 1]?.to ? [", at "] : [n ? "; " : "", sign(text[to]), n ? " at " : " looked at "]),
    sign(text[from]), ` (${heads.join(", ")})`]), ".");
}

/** How many look-ups of the document the model gets right. */
export function count({ text, notes, whole }, run, without) {
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
