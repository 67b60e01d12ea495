import { GpuError, openGpu, patiently, prepare, runOnce, submit } from "./gpu.js";
import { MATMUL_NAMES, matmulPlan } from "./kernels.js";
import { withinLimits } from "./limits.js";
import { randomNumbers } from "./loops.js";
import { STOPWATCH, stopwatchTime, verdict } from "./missing_wait.js";
import { timeText } from "./records.js";
import { pageSeconds, quantiles } from "./sampling.js";
import { el, enable, follow, say, update } from "./ui.js";

const WAIT = "await queue.onSubmittedWorkDone();";
const EARLIER = 5; // kernels that are in the queue before
const PLACES = ["before the clock starts", "before the launch", "before the clock stops", "after the clock has stopped"];

function render({ model, el: root }) {
  const boxes = [];
  const lines = STOPWATCH.map((line) => {
    if (line !== null) return el("code", {}, line);
    const place = boxes.length;
    const input = el("input", {
      type: "checkbox", "aria-label": `wait ${PLACES[place]}`,
      onchange: () => update(model, { waits: model.get("waits").map((on, i) => (i === place ? input.checked : on)) }),
    });
    boxes.push(input);
    return el("label", {}, input, " ", el("code", {}, WAIT));
  });
  const go = el("button", { type: "button", onclick: () => start() }, "Run");
  const told = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:7", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("p", { class: "hydra-note" }, "The kernel is a matmul. Where must the page wait for the device?"),
    el("div", { class: "hydra-stopwatch" }, ...lines),
    el("div", { class: "hydra-run" }, go, told),
  );

  let running = false;
  async function start() {
    if (running) return;
    running = true;
    enable(go, false);
    say(told, "Running.");
    const waits = model.get("waits");
    const { right, words } = verdict(waits);
    // Of waits that were changed meanwhile nothing is said.
    const judge = (sentence) => String(model.get("waits")) === String(waits) && say(told, sentence);
    let gpu = null;
    try {
      gpu = await openGpu(navigator.gpu, isSecureContext);
      const n = gpu.software ? 128 : 1024;
      const [a, b] = [1, 2].map((seed) => randomNumbers(n * n, seed));
      const ready = await prepare(gpu, matmulPlan(MATMUL_NAMES.at(-1), { M: n, N: n, K: n }), { a, b });
      await runOnce(gpu, ready);
      const device = {
        earlier: () => submit(gpu, ready, EARLIER), kernel: () => submit(gpu, ready), now: pageSeconds,
        wait: () => patiently(gpu, gpu.device.queue.onSubmittedWorkDone()),
      };
      const times = { yours: [], right: [] };
      for (let i = 0; i < 7; i++) {
        times.yours.push(await stopwatchTime(waits, device));
        times.right.push(await stopwatchTime([true, false, true, false], device));
      }
      const [mine, true_] = [times.yours, times.right].map((all) => timeText(quantiles(all).p50));
      const software = gpu.software ? " This is software, no GPU." : "";
      judge(right && !waits[1] ? `${words} The kernel takes ${mine}.${software}`
        : `${words} Your stopwatch shows ${mine}; the kernel takes ${true_}.${software}`);
    } catch (error) {
      judge(error instanceof GpuError ? `${words} (Nothing was timed. ${error.message})` : `The run failed: ${error.message}`);
      if (!(error instanceof GpuError)) throw error;
    } finally {
      gpu?.device.destroy();
      running = false;
      enable(go, true);
    }
  }

  return follow(model, ["waits"], () => {
    boxes.forEach((input, i) => (input.checked = model.get("waits")[i]));
    say(told, "Not run yet.");
  });
}

export default { render, valid: withinLimits };
