// The toy language of hydra_lib/toy/language.py: its rules, and documents drawn from them. No DOM.
import { uniforms } from "./random.js";

const OPENERS = "([{";
const CLOSERS = ")]}";
const STAR = "*";
const NAMES = "ABCDEFGH";
const WORDS = "abcdefghijklmnopqrstuvwx";
export const SYMBOLS = `^${OPENERS}${CLOSERS}${STAR}${NAMES}${WORDS}`;
export const LONGEST = 48; // what the model was trained on

const DEPTH = 3;
const [P_OPEN, P_CLOSE, P_NAME, P_STAR] = [0.18, 0.22, 0.06, 0.08];

/** What the rules know after the text read so far. `job` is what the last symbol asks for: none,
 * induction, bracket or entity; `target` the position of the symbol that answers, −1 for none. */
export class Reader {
  text = "";
  job = "none";
  target = -1;
  #successor = new Map(); // word -> position of the word that follows it
  #open = []; // kind, and position of the word before
  #name = -1; // position of the most recent name

  /** What may come next: [probability, symbols that share it equally], summing to 1. */
  choices() {
    if (this.text === "") return [[1, "^"]];
    if (this.job === "bracket" || this.job === "entity") return [[1, this.text[this.target]]];
    const last = this.text.at(-1);
    const word = WORDS.includes(last);
    const kinds = this.#open.map(([kind]) => kind);
    const found = [];
    if (word && kinds.length < DEPTH) { // no kind stands inside itself
      found.push([P_OPEN, [...OPENERS].filter((kind) => !kinds.includes(kind)).join("")]);
    }
    if (word && kinds.length > 0) found.push([P_CLOSE, CLOSERS[OPENERS.indexOf(kinds.at(-1))]]);
    if (word || last === "^") found.push([P_NAME, NAMES]);
    if (word && this.#name >= 0) found.push([P_STAR, STAR]);
    const rest = 1 - found.reduce((total, [p]) => total + p, 0);
    found.push([rest, this.job === "induction" ? this.text[this.target] : WORDS.replace(last, "")]);
    return found;
  }

  /** Go on by one symbol; an error for one that the rules do not allow here. */
  read(symbol) {
    const allowed = this.choices().map(([, symbols]) => symbols).join("");
    if ([...symbol].length !== 1 || !allowed.includes(symbol)) {
      throw new Error(`symbol must be one of '${allowed}' after '${this.text}', got '${symbol}'`);
    }
    const here = this.text.length;
    const last = this.text.at(-1) ?? "";
    const asked = this.job;
    this.text += symbol;
    this.job = "none";
    this.target = -1;
    const ask = (job, target) => Object.assign(this, { job, target });
    if (OPENERS.includes(symbol)) this.#open.push([symbol, here - 1]);
    else if (CLOSERS.includes(symbol)) ask("bracket", this.#open.pop()[1]);
    else if (symbol === STAR) ask("entity", this.#name);
    else if (NAMES.includes(symbol)) this.#name = here;
    else if (WORDS.includes(symbol)) {
      if (last && WORDS.includes(last) && asked === "none") this.#successor.set(last, here);
      if (this.#successor.has(symbol)) ask("induction", this.#successor.get(symbol));
    }
  }
}

/** How much of a text is a document, and what is wrong with the rest ("" when nothing is). */
export function examine(text) {
  const reader = new Reader();
  let refused = "";
  for (const symbol of [...text].slice(0, LONGEST)) {
    try {
      reader.read(symbol);
    } catch (error) {
      refused = error.message;
      break;
    }
  }
  const length = [...text].length;
  const strange = [...new Set(text)].filter((symbol) => !SYMBOLS.includes(symbol))
    .sort((a, b) => a.codePointAt() - b.codePointAt());
  const problem = strange.length > 0 ? `text must be made of the symbols ${SYMBOLS}, got ${strange.slice(0, 40).map((symbol) => `'${symbol}'`).join(", ")}`
    : length < 2 || length > LONGEST ? `text must have 2 to ${LONGEST} symbols, got ${length}`
      : text[0] !== "^" ? `text must start with ^, got ${text[0]}`
        : refused;
  return { legal: reader.text, problem };
}

/** What the rules know at every position of a document. `answers` are the positions that hold what
 * is asked for: for induction every earlier copy of the word that follows, else the target alone. */
export function annotate(text) {
  const reader = new Reader();
  return [...text].map((symbol, i) => {
    reader.read(symbol);
    const { job, target } = reader;
    const choices = reader.choices();
    const copies = Array.from(text.slice(1, i + 1)).flatMap((next, j) =>
      (text[j] === symbol && WORDS.includes(next) ? [j + 1] : []));
    const answers = job === "induction" ? copies : job === "none" ? [] : [target];
    return { job, answers, choices };
  });
}

/** The probability that the rules give to a symbol. */
export function chance(choices, symbol) {
  const [p, symbols] = choices.find((choice) => choice[1].includes(symbol)) ?? [0, "-"];
  return p / symbols.length;
}

/** Where a look at a document may start: at the last look-up whose outcome stands in it. */
export function opening(text) {
  const asked = annotate(text.slice(0, -1)).findLastIndex(({ job }) => job !== "none");
  return asked >= 0 ? asked : text.length - 1;
}

/** A random document of the language, the same one for a seed. */
export function randomDocument(seed, length) {
  const uniform = uniforms(seed);
  const reader = new Reader();
  reader.read("^");
  while (reader.text.length < length) {
    let left = uniform();
    const choices = reader.choices();
    const [, symbols] = choices.find(([p]) => (left -= p) < 0) ?? choices.at(-1);
    reader.read(symbols[Math.floor(uniform() * symbols.length)]);
  }
  return reader.text;
}
