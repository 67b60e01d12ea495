import { withinLimits } from "./limits.js";
import { finding, merge, slicesOf } from "./pieces.js";
import { brief, css, el, follow, listed, pills, say, swatch, tenths, update, vector } from "./ui.js";

const placed = (row, items) => items.map((item, j) => {
  Object.assign(item.style, { gridRow: row, gridColumn: j + 1 });
  return item;
});

function render({ model, el: root }) {
  const words = model.get("words");
  const values = model.get("values");
  const scores = model.get("scores");
  const query = pills("The query of", words.map((word, i) => [String(i), word]), (value) =>
    update(model, { word: Number(value) }));
  const cuts = words.slice(1).map((word, j) => el("button", {
    type: "button", "aria-label": `cut between ${words[j]} and ${word}`,
    onclick: () => update(model, { cuts: model.get("cuts").map((cut, at) => (at === j ? !cut : cut)) }),
  }));
  const paints = values.map((value) => swatch(css(value)));
  const shares = words.map(() => el("span", { class: "hydra-share" }));
  const ranks = el("div", { class: "hydra-ranks" });
  const bar = el("div", { class: "hydra-merged", "aria-hidden": "true" });
  const outcome = el("p", { class: "hydra-held", style: "--lines:1;--narrow:3" });
  const summary = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:9", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls hydra-wide-first" }, query.root),
    el("p", { class: "hydra-note" }, "Press between two words to begin a new rank there, or to remove one."),
    el("div", { class: "hydra-words hydra-dealt" },
      ...placed(1, paints), ...placed(2, words.map((word) => el("span", {}, word))),
      el("span", { class: "hydra-label" }, "scores of the query with these keys"), ...shares, ...placed("1 / 3", cuts)),
    el("span", { class: "hydra-label" }, "what each rank finds: its mixture, the largest score m, and the sum l"), ranks,
    el("span", { class: "hydra-label" }, "merged: each rank's mixture, in proportion to its part of the sum"), bar,
    outcome, summary,
  );

  return follow(model, ["word", "cuts"], () => {
    const word = model.get("word");
    query.set(String(word));
    model.get("cuts").forEach((cut, j) => cuts[j].setAttribute("aria-pressed", cut));
    scores[word].forEach((score, j) => {
      say(shares[j], j <= word ? tenths(score) : "−∞");
      paints[j].classList.toggle("hydra-none", j > word);
    });
    const slices = slicesOf(model.get("cuts"));
    const found = slices.map((columns) => finding(scores, values, word, columns));
    const whole = found.reduce(merge);
    const parts = found.map(({ m, l }) => (l > 0 ? (Math.exp(m - whole.m) * l) / whole.l : 0));
    ranks.replaceChildren(...found.map((one, r) => {
      const box = el("div", {}, el("strong", {}, String(r)), paintOf(one),
        el("span", {}, el("small", {}, "m "), tenths(one.m)), el("span", {}, el("small", {}, "l "), one.l.toFixed(2)));
      box.style.gridColumn = `span ${slices[r].length}`;
      return box;
    }));
    bar.replaceChildren(...found.map((one, r) => el("span", {
      style: `--part:${parts[r]};--paint:${one.l > 0 ? css(mixture(one)) : "transparent"}`,
    })));
    const naive = average(found.filter(({ l }) => l > 0).map(mixture));
    outcome.replaceChildren("output ", painted(mixture(whole)), "; if all mixtures that ranks found counted the same: ", painted(naive));
    say(summary, told(words[word], whole, parts));
  });
}

/** Whose sum is which part of the whole. */
function told(word, { m, l }, parts) {
  const idle = parts.flatMap((part, r) => (part === 0 ? [r] : []));
  const said = parts.flatMap((part, r) => (part > 0 ? [`${percent(part)} from rank ${r}`] : [])).join(", ");
  const some = idle.length > 1;
  return `For “${word}” the largest score of all is ${tenths(m)}; relative to it, the sum is ${brief(l)}: ${said}.`
    + (idle.length ? ` Rank${some ? "s" : ""} ${listed(idle)} found nothing: “${word}” may see none of ${some ? "their" : "its"} keys.` : "")
    + " Cut elsewhere, and the output stays the same.";
}

const mixture = ({ l, o }) => o.map((x) => x / l);
const average = (colours) => colours[0].map((_, c) => colours.reduce((total, one) => total + one[c], 0) / colours.length);
const paintOf = (one) => (one.l > 0 ? swatch(css(mixture(one))) : el("span", { class: "hydra-swatch hydra-none", "aria-hidden": "true" }));
const painted = (colour) => el("span", { class: "hydra-term" }, swatch(css(colour)), ` ${vector(colour)}`);
const percent = (part) => (part < 0.001 ? "less than 0.1 %"
  : part > 0.9995 && part < 1 ? "more than 99.9 %" : `${brief(100 * part)} %`);

export default { render, valid: withinLimits };
