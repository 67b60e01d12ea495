import { withinLimits } from "./limits.js";
import {
  histogram, measure, moments, normalDensity, reach, sampler, saturation,
} from "./scaling.js";
import { checkbox, columnHeads, el, follow, heat, number, slider, svg, table, update } from "./ui.js";

const SAMPLES = 2000;
const KEYS = 8;
const STEP = 0.05;
const [WIDTH, HEIGHT, BINS] = [480, 170, 60];

function render({ model, el: root }) {
  const limits = model.get("limits");
  const sizes = limits.d_k.options;
  const size = slider("Width d_k", { min: 0, max: sizes.length - 1 }, (power) =>
    update(model, { d_k: sizes[power] }));
  const sigma = slider("Std deviation σ", { ...limits.sigma, step: STEP }, (value) => update(model, { sigma: value }));
  const means = ["q", "k"].map((name) => slider(`Mean μ_${name}`, { ...limits[`mu_${name}`], step: STEP }, (value) =>
    update(model, { [`mu_${name}`]: value })));
  const scaled = checkbox("divide by √d_k", (value) => update(model, { scaled: value }));
  const again = el("button", {
    type: "button", onclick: () => update(model, { seed: (model.get("seed") + 1) % 2 ** 32 }),
  }, "draw again");

  const chart = picture();
  const compared = table("Mean and variance of a score", 2, 2, (i) => ["predicted", "measured"][i]);
  columnHeads(compared, "", ["mean", "variance"]);
  const row = table(`One row of attention: ${KEYS} keys, one query`, KEYS, 3, (j) => j + 1);
  columnHeads(row, "key", ["score", "weight", ""]);
  row.cells.forEach((cells) => cells[2].classList.add("hydra-bar"));
  const spread = table("How open this row still is", 3, 1, (i) =>
    ["entropy, in nats", "keys in use", "norm of the Jacobian"][i]);
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:6", "aria-live": "polite" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, size.root, sigma.root, ...means.map((mean) => mean.root),
      el("div", { class: "hydra-control" }, scaled.root, again)),
    el("div", { class: "hydra-panels" },
      el("div", { class: "hydra-wide" }, chart.root, compared.root),
      el("div", {}, row.root, spread.root)),
    summary,
  );

  let drawn;
  let many;
  let few;
  return follow(model, ["d_k", "sigma", "mu_q", "mu_k", "scaled", "seed"], () => {
    const seed = model.get("seed");
    if (seed !== drawn) {
      drawn = seed;
      many = sampler(SAMPLES, 1, seed);
      few = sampler(1, KEYS, seed);
    }
    const d = model.get("d_k");
    const setting = [d, model.get("mu_q"), model.get("mu_k"), model.get("sigma")];
    size.set(Math.log2(d), String(d));
    means.forEach((mean, i) => mean.set(setting[1 + i]));
    sigma.set(setting[3]);
    scaled.input.checked = model.get("scaled");

    const divisor = model.get("scaled") ? Math.sqrt(d) : 1;
    const raw = moments(...setting);
    const expected = { mean: raw.mean / divisor, variance: raw.variance / divisor ** 2 };
    const scores = many(...setting).map((s) => s / divisor);
    const found = measure(scores);
    const keys = few(...setting).map((s) => s / divisor);
    const { p, entropy, frobenius } = saturation(keys);

    chart.draw(scores, expected, model.get("scaled"));
    [expected, found].forEach(({ mean, variance }, i) => {
      compared.cells[i][0].textContent = number(mean);
      compared.cells[i][1].textContent = number(variance);
    });
    row.cells.forEach((cells, j) => {
      cells[0].textContent = number(keys[j]);
      cells[1].textContent = number(p[j]);
      heat(cells[2], p[j]);
    });
    [entropy, Math.exp(entropy), frobenius].forEach((value, i) => {
      spread.cells[i][0].textContent = number(value);
    });
    summary.textContent = `Variance ${number(expected.variance)} predicted, `
      + `${number(found.variance)} measured. Of it, ${number(raw.within / divisor ** 2)} lies within a row, on average, `
      + `which is all that softmax sees: this row uses ${number(Math.exp(entropy))} of ${KEYS} keys; `
      + `norm of the Jacobian ${number(frobenius)}.`;
  });
}

/** The histogram of the scores under the predicted normal curve, on an axis around its mean. */
function picture() {
  const caption = el("figcaption", { style: "--lines:3" });
  const bars = svg("g", { class: "hydra-counts" });
  const curve = svg("polyline", { class: "hydra-line" });
  const axis = el("div", { class: "hydra-axis", "aria-hidden": "true" });
  const root = el("figure", { class: "hydra-figure hydra-histogram" }, caption,
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, bars, curve), axis);
  const draw = (scores, expected, divided) => {
    const half = reach(expected.variance);
    const [low, high] = [expected.mean - half, expected.mean + half];
    const counts = histogram(scores, low, high, BINS);
    // Expected number of scores a bin, so that curve and bars share one scale.
    const area = scores.length * ((high - low) / BINS);
    const top = Math.max(...counts, area * normalDensity(expected.mean, expected));
    const y = (count) => HEIGHT - (HEIGHT - 4) * (count / top);
    bars.replaceChildren(...counts.map((count, bin) => svg("rect", {
      x: (bin * WIDTH) / BINS, width: WIDTH / BINS, y: y(count), height: HEIGHT - y(count),
    })));
    const points = Array.from({ length: WIDTH / 2 + 1 }, (_, i) => {
      const x = low + ((high - low) * 2 * i) / WIDTH;
      return `${2 * i},${y(area * normalDensity(x, expected)).toFixed(1)}`;
    });
    curve.setAttribute("points", points.join(" "));
    axis.replaceChildren(...[-1, -0.5, 0, 0.5, 1].map((share) =>
      el("span", {}, number(expected.mean + share * half))));
    const outside = scores.length - counts.reduce((a, b) => a + b, 0);
    caption.textContent = `${scores.length} scores ${divided ? "q·k / √d_k" : "q·k"}, and the normal curve of the predicted mean and variance`
      + (outside ? `; ${outside} lie beyond the axis` : "");
  };
  return { root, draw };
}

export default { render, valid: withinLimits };
