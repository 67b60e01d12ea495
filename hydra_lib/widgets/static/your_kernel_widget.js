import { CompileError, GpuError, openGpu, prepare, read, runOnce, stamped, awaited } from "./gpu.js";
import { ATTENTION_NAMES, attentionPlan } from "./kernels.js";
import { randomNumbers } from "./loops.js";
import { percent, three, timeText } from "./records.js";
import { callsFor, pageSeconds, paired, quantiles, sample } from "./sampling.js";
import { el, enable, follow, say, update } from "./ui.js";
import { GIVEN, judged, kernelWith, missingBarriers, OWN_LOOP, TRIAL, trialInputs } from "./your_kernel.js";

/** A plan with the reader's loop: what stands before it counts to the prelude, so lines are theirs. */
function planWith(loop, { h, T, D }) {
  const { head, text } = kernelWith(loop);
  const plan = attentionPlan(ATTENTION_NAMES[1], { B: 1, h, Tq: T, Tk: T, D, causal: true }, "float32", text);
  const [step] = plan.steps;
  return { ...plan, steps: [{ ...step, prelude: step.prelude + head }] };
}

/** Its buffers go with the device. */
async function prepared(gpu, loop, size, inputs) {
  const ready = await prepare(gpu, planWith(loop, size), inputs);
  await runOnce(gpu, ready);
  return ready;
}

/** The reader's loop and the book's, in pairs; a sentence. */
async function beside(gpu, loop) {
  const size = gpu.software ? { h: 1, T: 64, D: 64 } : { h: 12, T: 1024, D: 64 };
  const inputs = Object.fromEntries(["q", "k", "v"].map((name, i) => [name, randomNumbers(size.h * size.T * size.D, i)]));
  inputs.lengths = [size.T];
  const both = [];
  for (const one of [OWN_LOOP, loop]) both.push(await prepared(gpu, one, size, inputs));
  const clock = gpu.stamps && (await stamped(gpu, both[0], 1)) > 0 ? stamped : awaited;
  const calls = await callsFor((count) => clock(gpu, both[0], count), 0.02);
  const times = await sample(both.map((one) => async () => (await clock(gpu, one, calls)) / calls), {
    now: pageSeconds, budget: 2,
  });
  const { ratio, spread } = paired(times[0], times[1]);
  return `Yours takes ${timeText(quantiles(times[1]).p50)} at T = ${size.T}, h = ${size.h}, head_dim = ${size.D}; it is ${three(ratio)} × `
    + `as fast as the book's (paired, ± ${percent(spread)})${gpu.software ? ". This is software, no GPU: the times say nothing" : ""}.`;
}

const UNCHECKED = "Nothing has been checked yet.";

function render({ model, el: root }) {
  const text = el("textarea", {
    rows: 22, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "data-lm-suppress-shortcuts": "true",
    onchange: () => update(model, { code: text.value === GIVEN ? "" : text.value }),
  });
  const go = el("button", { type: "button", onclick: () => start() }, "Check and time");
  const again = el("button", { type: "button", onclick: () => update(model, { code: "" }) }, "Begin again");
  const told = el("p", { class: "hydra-summary", role: "status" }, UNCHECKED);
  const list = el("ul", { class: "hydra-problems" });
  root.classList.add("hydra");
  root.append(
    el("label", { class: "hydra-code" }, el("span", {}, "The inner loop, once for every tile of keys (WGSL)"), text),
    el("div", { class: "hydra-run" }, go, again), told, list,
  );
  const tell = (words, problems = []) => {
    say(told, words);
    list.replaceChildren(...problems.map((problem) => el("li", {}, problem)));
  };

  let running = false;
  let checked = null; // the loop that the verdict is about
  async function start() {
    if (running) return;
    running = true;
    enable(go, false);
    const loop = text.value;
    checked = loop;
    update(model, { code: loop === GIVEN ? "" : loop });
    tell("Being checked …");
    // Of a loop that was changed meanwhile nothing is said.
    const judge = (...verdict) => checked === loop && tell(...verdict);
    const problems = missingBarriers(loop);
    let gpu = null;
    try {
      gpu = await openGpu(navigator.gpu, isSecureContext);
      const ready = await prepared(gpu, loop, { ...TRIAL, h: 1 }, trialInputs());
      const { right, error, words } = judged(await read(gpu, ready));
      if (!right) judge("Not right yet.", [...problems, words]);
      else if (problems.length) judge("The numbers are right on this device, perhaps by luck.", problems);
      else {
        judge(`Right: every row within ${three(error)}. Being timed beside the book's …`);
        const timed = await beside(gpu, loop);
        judge(`Right: every row within ${three(error)}. ${timed}`);
      }
    } catch (error) {
      if (!(error instanceof GpuError)) {
        judge("The check failed.", [error.message]);
        throw error;
      }
      if (error instanceof CompileError) judge("It does not compile.", error.messages.map(({ line, text: words }) => lineText(line, words, loop)));
      else judge(error.message, problems);
    } finally {
      gpu?.device.destroy();
      running = false;
      enable(go, true);
    }
  }

  return follow(model, ["code"], () => {
    text.value = model.get("code") || GIVEN;
    if (checked !== null && text.value !== checked) {
      checked = null;
      tell(UNCHECKED);
    }
  });
}

function lineText(line, words, loop) {
  const count = loop.split("\n").length;
  return line <= count ? `Line ${line}: ${words}` : `After your last line: ${words}; a brace may be missing, or one too many.`;
}

/** What a link may ask for. */
function valid(trait, value) {
  return trait === "code" && typeof value === "string" && value.length < 8000;
}

export default { render, valid };
