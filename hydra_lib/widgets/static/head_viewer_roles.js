// The roles that heads play in the head viewer: what each was found to do, and what the reader takes it to do.
import { el, heat, say, table } from "./ui.js";
import { called, share } from "./head_viewer_told.js";

export const PLAYED = 0.5; // a score from which on a head is said to play a role
const rolesOf = (scores) => Object.keys(scores).filter((role) => !role.includes(",")); // hard cases are no role

/** The role that a head plays best, and how well. */
export function bestRole(scores, layer, head) {
  const of = (role) => scores[role][layer][head];
  const role = rolesOf(scores).reduce((a, b) => (of(b) > of(a) ? b : a));
  return { role, score: of(role) };
}

/** A head may play two roles, and either is right; "nothing" is, where it plays none. */
function isRight(scores, layer, head, guess) {
  return guess === "nothing" ? bestRole(scores, layer, head).score < PLAYED : scores[guess][layer][head] >= PLAYED;
}

/** Told, or guessed right: until then the roles of a head are nowhere to be read. */
export const isKnown = (scores, layer, head, guess) =>
  guess === "told" || (guess !== "?" && isRight(scores, layer, head, guess));

/** What the reader takes a head to do, and what it does. `set` is given how the guesses change. */
export function guessing(scores, set, onFound) {
  const heads = Object.values(scores)[0][0].length;
  const words = [...rolesOf(scores), "nothing"];
  const known = (own, n) => isKnown(scores, Math.floor(n / heads), n % heads, own);
  // Buttons: with the arrow keys one would guess by moving among pills.
  const buttons = words.map((word) => el("button", {
    type: "button", onclick: () => set((guesses, layer, head) =>
      guesses.map((old, n) => (n === layer * heads + head ? word : old))),
  }, word));
  const guess = el("div", { class: "hydra-buttons", role: "group", "aria-label": "Your guess" }, el("span", {}, "Your guess"), ...buttons);
  const verdict = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:5", role: "status" });
  const all = el("button", {
    type: "button", onclick: () => set((guesses) => (guesses.every(known) ? guesses.map(() => "?")
      : guesses.map((old, n) => (known(old, n) ? old : "told")))),
  });
  const root = el("div", { class: "hydra-game" }, guess, el("div", { class: "hydra-buttons" }, all), verdict);
  const draw = (layer, head, guessed, asks) => {
    const own = guessed[layer * heads + head];
    const { role, score } = bestRole(scores, layer, head);
    const found = isKnown(scores, layer, head, own);
    const left = guessed.filter((one, n) => !known(one, n)).length;
    const focused = buttons.includes(root.getRootNode().activeElement);
    buttons.forEach((button, n) => {
      button.setAttribute("aria-pressed", own === words[n]);
      button.disabled = found;
    });
    say(all, left ? "name them all" : "hide the names");
    if (focused && root.getRootNode().activeElement?.disabled !== false) onFound(); // or the keyboard would be nowhere
    const at = (one) => share(scores[one][layer][head]);
    const [main, second] = rolesOf(scores).filter((one) => scores[one][layer][head] >= PLAYED);
    const wherever = "of its attention goes there when there is something to find";
    const is = main ? `is ${main}: ${at(main)} ${wherever}${second ? `; and ${second}: ${at(second)}` : ""}`
      : `plays no role: at best ${role}, ${share(score)}`;
    say(verdict, own === "?" ? `What does head ${called(layer, head)} look for?${asks ? " The buttons at the top show it at work." : ""}`
      : found ? `Head ${called(layer, head)} ${is}.${own === "told" ? "" : " You were right."}`
        : `${own === "nothing" ? "It does something" : `Not ${own}: ${at(own)} ${wherever}`}. Guess again, or name them all.`);
    return !found; // what its roles are is not to be read elsewhere
  };
  return { root, draw };
}

/** How much of its attention a head puts where each role looks. */
export function roleTable(names) {
  const grid = table("", names.length, 2, (n) => names[n]);
  grid.root.classList.add("hydra-roles");
  const draw = (values, layer, head) => {
    say(grid.root.caption, `Head ${called(layer, head)} in each role`);
    values.forEach((value, n) => {
      say(grid.cells[n][0], share(value));
      grid.cells[n][1].classList.add("hydra-bar");
      heat(grid.cells[n][1], value);
    });
  };
  return { root: grid.root, draw };
}
