import { leisurely } from "./leisurely.js";
import { withinLimits } from "./limits.js";
import { histogram, measure, moments, normalDensity, sampler, saturation } from "./scaling.js";
import { brief, columnHeads, el, follow, grouped, heat, say, slider, svg, table, update, weight } from "./ui.js";

const SAMPLES = 2000;
const KEYS = 8;
const STEP = 0.05;
const REACH = 24; // of the axis to both sides: three standard deviations of 64 products
const [WIDTH, HEIGHT, BINS] = [480, 120, 96];
const PAUSE = 4; // milliseconds
const LANES = ["q·k", "q·k / √dₖ"];

function render({ model, el: root }) {
  const limits = model.get("limits");
  const sizes = limits.d_k.options;
  const size = slider("Width dₖ", { min: 0, max: sizes.length - 1 }, (power) =>
    update(model, { d_k: sizes[power] }));
  const sigma = slider("Std deviation σ", { ...limits.sigma, step: STEP }, (value) => update(model, { sigma: value }));
  const means = ["q", "k"].map((name) => slider(["Mean μ", el("sub", {}, name)], { ...limits[`mu_${name}`], step: STEP }, (value) =>
    update(model, { [`mu_${name}`]: value })));
  const again = el("button", {
    type: "button", onclick: () => update(model, { seed: (model.get("seed") + 1) % 2 ** 32 }),
  }, "draw again");

  const lanes = LANES.map(lane);
  const row = table(`One row of attention: ${KEYS} keys, one query`, KEYS, 4, (j) => j + 1);
  columnHeads(row, "key", LANES.flatMap((name) => [name, "weight"]));
  row.cells.forEach((cells) => [cells[1], cells[3]].forEach((cell) => cell.classList.add("hydra-bar")));
  row.root.classList.add("hydra-frozen");
  const facts = ["mean, predicted", "mean, measured", "variance, predicted", "variance, measured", "within a row, predicted",
    `keys in use, of ${KEYS}`, "size of the Jacobian"];
  const compared = table("A score, and this row", facts.length, LANES.length, (i) => facts[i]);
  columnHeads(compared, "", LANES);
  const summary = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:4", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls hydra-wide-first" }, size.root, sigma.root, ...means.map((mean) => mean.root),
      el("div", { class: "hydra-buttons" }, again)),
    el("div", { class: "hydra-panels" },
      el("div", { class: "hydra-wide" }, ...lanes.map((one) => one.root), axis(),
        el("p", { class: "hydra-note hydra-apart" }, "The curves are normal densities with the predicted mean and variance. Each picture is as high as its own peak."), summary),
      el("div", {}, row.root, compared.root)),
  );

  let drawn;
  let many;
  let few;
  const ahead = leisurely(() => { // a wide score takes many draws
    const until = performance.now() + PAUSE;
    return many.ahead(sizes.at(-1), () => performance.now() < until);
  });
  return follow(model, ["d_k", "sigma", "mu_q", "mu_k", "seed"], () => {
    const seed = model.get("seed");
    if (seed !== drawn) {
      many = sampler(SAMPLES, 1, seed);
      few = sampler(1, KEYS, seed);
      ahead();
      drawn = seed;
    }
    const d = model.get("d_k");
    const setting = [d, model.get("mu_q"), model.get("mu_k"), model.get("sigma")];
    size.set(Math.log2(d), String(d));
    means.forEach((mean, i) => mean.set(setting[1 + i]));
    sigma.set(setting[3]);

    const raw = moments(...setting);
    const [samples, scored] = [many, few].map((sampled) => sampled.scores(...setting));
    const found = [1, Math.sqrt(d)].map((divisor, which) => {
      const expected = { mean: raw.mean / divisor, variance: raw.variance / divisor ** 2 };
      const scores = samples.map((s) => s / divisor);
      const keys = scored.map((s) => s / divisor);
      const { p, entropy, frobenius } = saturation(keys);
      const measured = measure(scores);
      lanes[which].draw(scores, expected);
      row.cells.forEach((cells, j) => {
        say(cells[2 * which], brief(keys[j]));
        say(cells[2 * which + 1], weight(p[j]));
        heat(cells[2 * which + 1], p[j]);
      });
      [expected.mean, measured.mean, expected.variance, measured.variance, raw.within / divisor ** 2,
        Math.exp(entropy), frobenius].forEach((value, i) => {
        say(compared.cells[i][which], brief(value));
      });
      return { variance: expected.variance, used: Math.exp(entropy) };
    });
    say(summary, `At width ${d} a score has variance ${brief(found[0].variance)}, and this row uses `
      + `${brief(found[0].used)} of ${KEYS} keys. Divided by √dₖ: variance ${brief(found[1].variance)}, and `
      + `${brief(found[1].used)} of them.`);
  });
}

/** The histogram of the scores under the predicted normal curve, around its mean. */
function lane(name) {
  const caption = el("figcaption", { style: "--lines:1" });
  const bars = svg("path", { class: "hydra-counts" });
  const curve = svg("polyline", { class: "hydra-line" });
  const root = el("figure", { class: "hydra-figure hydra-histogram" }, caption,
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, bars, curve));
  const draw = (scores, expected) => {
    const low = expected.mean - REACH;
    const counts = histogram(scores, low, expected.mean + REACH, BINS);
    // Expected number of scores a bin, so that curve and bars share one scale.
    const area = scores.length * ((2 * REACH) / BINS);
    const top = Math.max(...counts, area * normalDensity(expected.mean, expected));
    const y = (count) => HEIGHT - (HEIGHT - 4) * (count / top);
    bars.setAttribute("d", counts.map((count, bin) =>
      `M${(bin * WIDTH) / BINS} ${HEIGHT}V${y(count).toFixed(3)}h${WIDTH / BINS}V${HEIGHT}`).join(""));
    const points = Array.from({ length: WIDTH / 2 + 1 }, (_, i) => {
      const x = low + (2 * REACH * 2 * i) / WIDTH;
      return `${2 * i},${y(area * normalDensity(x, expected)).toFixed(1)}`;
    });
    curve.setAttribute("points", points.join(" "));
    const outside = scores.length - counts.reduce((a, b) => a + b, 0);
    say(caption, `${name}: ${grouped(scores.length)} scores`
      + (outside ? `, ${grouped(outside)} outside` : ""));
  };
  return { root, draw };
}

const axis = () => el("div", { class: "hydra-axis", "aria-hidden": "true" },
  ...[-1, -0.5, 0, 0.5, 1].map((share) =>
    el("span", {}, share ? `${share < 0 ? "−" : "+"}${Math.abs(share * REACH)}` : "from the mean")));

export default { render, valid: withinLimits };
