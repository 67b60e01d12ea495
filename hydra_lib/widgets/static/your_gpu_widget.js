import { clockStep, MISTAKES, pageSeconds, Stopped } from "./sampling.js";
import { drawLines, drawRoof } from "./explorer_chart.js";
import { drawTimes } from "./your_gpu_chart.js";
import { fits, withinLimits } from "./limits.js";
import { GpuError, openGpu, withoutGpu } from "./gpu.js";
import { browserOf, isResult, linesOf, measure, MEASURES, MOST_LOOPS, nameOf, recordOf } from "./your_gpu.js";
import { memoryText, percent, place, select, speedText, three, TIME, timeText, unitFor, view } from "./records.js";
import { checkbox, choice, columnHeads, el, enable, follow, say, slider, svg, table, update } from "./ui.js";

const LABELS = { T: "Length T", head_dim: "head_dim", n: "Side n", budget: "Seconds" };
const SHOWN = { attention: ["T", "h", "head_dim"], matmul: ["n"], sweep: ["h", "head_dim"] };
const SETTINGS = ["measure", "T", "h", "head_dim", "n", "budget", ...Object.keys(MISTAKES), "result"];
const PAGE_LEFT = "the page went into the background, where browsers slow it down";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function render({ model, el: root }) {
  const task = () => ({
    measure: model.get("measure"), T: model.get("T"), h: model.get("h"), D: model.get("head_dim"), n: model.get("n"),
  });
  const made = () => Object.keys(MISTAKES).filter((mistake) => model.get(mistake));
  const limits = model.get("limits");

  const kind = choice("Measure", Object.entries(MEASURES), (value) => update(model, { measure: value }));
  const heads = slider("Heads h", limits.h, (value) => update(model, { h: value }));
  const choices = Object.fromEntries(Object.entries(LABELS).map(([key, label]) =>
    [key, choice(label, limits[key].options.map((x) => [x, x]), (value) => update(model, { [key]: Number(value) }))]));
  const switches = Object.fromEntries(Object.entries(MISTAKES).map(([key, label]) =>
    [key, checkbox(label, (on) => update(model, { [key]: on }))]));
  const about = el("p", { class: "hydra-note hydra-apart hydra-of-browser" });
  const go = el("button", { type: "button", onclick: () => start() }, "Run");
  const halt = el("button", { type: "button", "aria-disabled": "true", onclick: () => stop("you stopped it") }, "Stop");
  const bar = el("progress", { max: 1, value: 0, "aria-label": "progress of the run" });
  const told = el("p", { class: "hydra-summary", role: "status" });
  const results = el("div", { class: "hydra-results hydra-rungs" });
  const [times, roof] = [0, 1].map(() => {
    const picture = svg("svg", { viewBox: "0 0 340 250", "aria-hidden": "true" });
    const caption = el("figcaption");
    return { picture, caption, root: el("figure", { class: "hydra-figure hydra-plot", hidden: true }, picture, caption) };
  });
  const text = el("textarea", { rows: 6, readonly: true, "data-lm-suppress-shortcuts": "true", "aria-label": "the record as JSON" });
  const copying = el("button", { type: "button", onclick: () => copy() }, "Copy");
  const json = el("details", { class: "hydra-json", hidden: true },
    el("summary", {}, "The record as JSON"), text, copying);
  root.classList.add("hydra");
  root.append(
    about,
    el("div", { class: "hydra-controls" }, kind.root, choices.T.root, heads.root, choices.head_dim.root,
      choices.n.root, choices.budget.root),
    el("fieldset", { class: "hydra-mistakes" }, el("legend", {}, "Mistakes to make on purpose, beside the right time"),
      el("div", { class: "hydra-controls" }, ...Object.values(switches).map((one) => one.root))),
    el("div", { class: "hydra-run" }, go, halt, bar, told),
    results, el("div", { class: "hydra-panels" }, times.root, roof.root), json,
  );

  const runs = (on) => [[go, !on], [halt, on]].forEach(([button, acts]) => enable(button, acts));
  let running = null; // what a run in progress has found, line by line
  let ending = ""; // how the last one ended, if not well
  const stop = (reason) => {
    if (running) running.stopped ??= reason;
  };
  const hidden = () => document.hidden && stop(PAGE_LEFT);
  document.addEventListener("visibilitychange", hidden);

  async function copy() {
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
      say(copying, "Copied");
    } catch {
      say(copying, "Selected: copy it with the keyboard");
    }
  }

  async function start() {
    if (running) return;
    running = { task: task(), states: [], stopped: null };
    ending = "";
    runs(true);
    say(copying, "Copy");
    say(told, "Running.");
    update(model, { result: {} });
    draw();
    let breath = pageSeconds();
    const pass = async () => {
      if (pageSeconds() - breath > 0.03) {
        await new Promise((done) => setTimeout(done));
        breath = pageSeconds();
      }
      if (running.stopped) throw new Stopped(running.stopped);
    };
    let gpu = null;
    let without = "";
    try {
      try {
        gpu = await openGpu(navigator.gpu, isSecureContext);
      } catch (error) {
        if (!(error instanceof GpuError)) throw error;
        without = error.message;
      }
      const step = clockStep(pageSeconds);
      const cpu = `a processor with ${navigator.hardwareConcurrency ?? "some"} threads`;
      const result = await measure(running.task, {
        gpu, now: pageSeconds, pass, budget: model.get("budget"), made: made(),
        about: {
          device: gpu ? `${gpu.name}${gpu.software ? " (software, no GPU)" : ""}` : cpu, cpu, threads: gpu ? null : 1,
          software: gpu ? gpu.software : true, browser: browserOf(navigator.userAgent), agent: navigator.userAgent,
          date: new Date().toISOString(), clock: "the page's clock", step,
        },
        tell: (i, state, words) => {
          running.states[i] = { state, words };
          draw();
        },
        progress: (share) => (bar.value = share),
      });
      ending = [without, result.ended && `The run has ended early: ${result.ended}.`].filter(Boolean).join(" ").replace("..", ".");
      delete result.ended;
      update(model, { result: result.rows.length || result.missing.length ? result : {} });
    } catch (error) {
      ending = `The run has ended early: ${error.message}.`;
      if (!(error instanceof Stopped)) throw error;
    } finally {
      gpu?.device.destroy();
      running = null;
      bar.value = 0;
      runs(false);
      draw();
    }
  }

  function draw() {
    const current = running?.task ?? task();
    const result = Object.keys(model.get("result")).length ? model.get("result") : null;
    const found = result && same(result.task, current) ? result : null;
    kind.select.value = current.measure;
    for (const [key, { select: input, root: label }] of Object.entries(choices)) {
      input.value = model.get(key);
      label.hidden = key !== "budget" && !SHOWN[current.measure].includes(key);
    }
    heads.set(model.get("h"));
    heads.root.hidden = !SHOWN[current.measure].includes("h");
    for (const [key, { input }] of Object.entries(switches)) input.checked = model.get(key);
    const lines = linesOf(current);
    const looped = lines.some(({ loops, flops }) => loops && flops <= MOST_LOOPS);
    say(about, found ? aboutText(found)
      : `${navigator.gpu ? "This browser has WebGPU; pressing Run asks it for a device." : `${withoutGpu(isSecureContext)} ${looped ? "The rungs in JavaScript run here all the same."
        : "Attention with a short text has rungs in JavaScript, which run here all the same."}`} Nothing leaves this page.`);
    results.replaceChildren(listOf(lines, current, found, running?.states ?? []));
    if (!running) say(told, [ending, found ? resultText(lines, found) : result ? "The last result is for other sizes." : ""].join(" ").trim());
    drawPictures(lines, current, found);
    json.hidden = !found;
    if (found) text.value = JSON.stringify(recordOf(found), null, 1);
  }

  function drawPictures(lines, current, found) {
    const timed = found ? found.rows.map(([i, p20, p50, p80]) => ({
      name: nameOf(lines[i]), p20, p50, p80, wrong: found.wrong.find(([k]) => k === i)?.[1], own: true, // 0 has no place on a logarithmic axis
    })) : [];
    const record = timed.length ? slimOf(found) : null;
    const sweep = current.measure === "sweep";
    times.root.hidden = !timed.length;
    if (timed.length && sweep) {
      const shown = { ...view({ yours: record }, { chart: "T" }), lines: [] };
      times.picture.setAttribute("viewBox", "0 0 340 250");
      const ready = shown.taken.chart === "T";
      times.root.hidden = !ready;
      if (ready) {
        drawLines(times.picture, shown, "time", null, () => {});
        say(times.caption, "Time of one call along T. A line that ends early: there the kernel did not fit, took too long or was wrong, or the run was stopped.");
      }
    } else if (timed.length) {
      const beside = besideOf(current).map((row) => ({ ...row, name: `${row.kernel}, on record`, own: false }));
      drawTimes(times.picture, [...timed, ...beside].sort((a, b) => b.p50 - a.p50));
      say(times.caption, "Time of one call on a logarithmic axis; the line is p20 to p80."
        + (found.wrong.length ? " Rings: timed with the mistakes." : "")
        + (beside.length ? ` Without colour: ${[...new Set(beside.map(({ device }) => device))].join(", ")}.` : ""));
    }
    const dtype = "float32";
    const own = found?.rows.filter(([i]) => !lines[i].loops && lines[i].dtype === dtype) ?? [];
    roof.root.hidden = sweep || !(record?.ceilings[dtype] && own.length);
    if (roof.root.hidden) return;
    // In the table's order, so that the numbers are the table's; what has no place has no bytes.
    const ranked = lines.map((_, i) => (own.some(([k]) => k === i) ? record.rows.find((row) => row.line === i) : {}));
    say(roof.caption, drawRoof(roof.picture, { record, lines: ranked, taken: { dtype } }, null, () => {}));
  }

  const besideOf = ({ measure: what, T, h, D }) => (what !== "attention" ? []
    : select(model.get("recorded"), { T, h, head_dim: D, dtype: "float32" }));

  const unfollow = follow(model, SETTINGS, draw);
  return () => {
    stop("the widget was closed");
    document.removeEventListener("visibilitychange", hidden);
    unfollow();
  };
}

/** The record as the charts read it; each row with the number of its line. */
function slimOf(found) {
  const record = recordOf(found);
  const ceilings = Object.fromEntries(Object.entries(record.ceilings ?? {}).map(([dtype, { copy, matmul }]) =>
    [dtype, { peak: matmul.flops / matmul.p50, bandwidth: copy.bytes / copy.p50 }]));
  return { ...record, ceilings, rows: record.rows.map((row, k) => ({ ...row, line: found.rows[k][0] })) };
}

function aboutText(found) {
  const { about } = found;
  const roofs = Object.entries(slimOf(found).ceilings).map(([dtype, { peak, bandwidth }]) => `${dtype}: ${speedText(peak)}, ${three(bandwidth / 1e9)} GB/s`);
  return `${about.device}${about.software && about.threads === null ? "; its times say nothing about a GPU" : ""}; ${about.browser}, `
    + `${about.date.slice(0, 10)}. Timed by ${about.clock}.${roofs.length ? ` Measured ceilings, ${roofs.join("; ")}.` : ""}`;
}

const two = (first, second, more) => [first, " ", el("small", {}, second), ...(more ? [" ", more] : [])];
const countText = (count) => speedText(count).replace("FLOP/s", ""); // the column says of what

/** The rungs: what is counted, and what was measured or is being measured. */
function listOf(lines, task, found, states) {
  const grid = table(captionOf(task), lines.length, 4, (i) => {
    const words = stateOf(i, found, states);
    return el("span", {}, el("span", {}, `${i + 1} `), nameOf(lines[i]), el("small", { class: words.startsWith("Wrong") ? "hydra-wrong" : "" }, words));
  });
  const heads = [["FLOPs", "bytes"], ["held", "FLOP/byte"], ["time", "p20–p80"], ["speed", "of roof"]];
  columnHeads(grid, "rung", heads.map((words) => two(...words)));
  const record = found && slimOf(found);
  lines.forEach(({ flops, bytes, held, dtype, loops }, i) => {
    const cells = grid.cells[i];
    cells[0].append(...two(countText(flops), memoryText(bytes)));
    cells[1].append(...two(memoryText(held), three(flops / bytes)));
    const timed = found?.rows.find(([k]) => k === i);
    if (!timed) return [cells[2], cells[3]].forEach((cell) => cell.append(...two("–", "–")));
    const [, p20, p50, p80] = timed;
    const wrong = found.wrong.find(([k]) => k === i);
    const [, seconds] = unitFor(p50, TIME);
    cells[2].append(...two(timeText(p50), `${three(p20 / seconds)}–${three(p80 / seconds)}`,
      wrong && el("small", { class: "hydra-wrong" }, `mistaken: ${wrong[1] > 0 ? timeText(wrong[1]) : "less than the clock can tell"}`)));
    const ceiling = loops ? null : record.ceilings[dtype];
    cells[3].append(...two(speedText(flops / p50), ceiling ? percent(place(ceiling, flops, bytes, p50).share) : "–"));
  });
  return grid.root;
}

function captionOf({ measure: what, T, h, D, n }) {
  if (what === "matmul") return `A product, ${n} × ${n} by ${n} × ${n}; in float32 unless it says otherwise`;
  return `Causal attention, B = 1, h = ${h}, ${what === "sweep" ? "" : `T = ${T}, `}head_dim = ${D}; "held" is memory besides the inputs`;
}

/** How far a rung has come, in words. */
function stateOf(i, found, states) {
  const timed = found?.rows.find(([k]) => k === i);
  if (timed) return timed[6] === 0 ? "right to the last digit" : `right within ${three(timed[6])}`;
  const missing = found?.missing.find(([k]) => k === i);
  if (missing) return missing[1];
  const { state, words } = states[i] ?? {};
  const said = { checking: "being checked against float64 …", timing: "being timed …", done: "timed" };
  return words || (said[state] ?? "");
}

/** What was found, in sentences. */
function resultText(lines, { task, rows, missing }) {
  if (!rows.length) return "Nothing could be timed.";
  const parts = [];
  const sweep = task.measure === "sweep";
  if (sweep) {
    for (const kernel of new Set(rows.map(([i]) => lines[i].kernel))) {
      const [i, , p50] = rows.filter(([k]) => lines[k].kernel === kernel).at(-1);
      parts.push(`${kernel}: up to T = ${lines[i].sizes.T}, in ${timeText(p50)}.`);
    }
  } else {
    const ordered = [...rows].sort((a, b) => a[2] - b[2]);
    const [fast, slow] = [ordered[0], ordered.at(-1)];
    parts.push(`Fastest: “${nameOf(lines[fast[0]])}”, ${timeText(fast[2])}.`);
    if (fast !== slow) parts.push(`Slowest: “${nameOf(lines[slow[0]])}”, ${timeText(slow[2])}, ${three(slow[2] / fast[2])} times as long.`);
  }
  const pairs = rows.filter(([i, , , , , , , ratio]) => ratio !== null && !lines[i].loops);
  for (const [i, , , , spread, , , ratio] of sweep ? pairs.slice(-1) : pairs) {
    const { dtype, sizes } = lines[i];
    const [reference] = rows.find(([k]) => !lines[k].loops && lines[k].dtype === dtype && lines[k].sizes.T === sizes.T);
    parts.push(`“${nameOf(lines[i])}” is ${three(ratio)} × as fast as “${lines[reference].kernel}” (paired, ± ${percent(spread)}).`);
  }
  if (missing.length) parts.push(`Not timed: ${missing.length} of ${lines.length}.`);
  return parts.join(" ");
}

/** What a link may ask for; a result with numbers for every line that it names. */
function valid(trait, value, initial) {
  const { limits } = initial;
  if (trait === "result") {
    const known = ["measure", "T", "h", "n"];
    return same(value, {}) || isResult(value, (task) =>
      known.every((key) => fits(limits[key], task[key])) && fits(limits.head_dim, task.D));
  }
  return withinLimits(trait, value, initial);
}

export default { render, valid };
