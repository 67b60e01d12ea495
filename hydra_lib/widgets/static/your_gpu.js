// What is measured on the reader's machine: the rungs, verified and then timed; the record. No DOM, but a GPU.
import { awaited, GpuError, patiently, prepare, read, refusal, runOnce, stamped, submit } from "./gpu.js";
import {
  ATTENTION_NAMES, attentionBytes, attentionFlops, attentionPlan, bytesOf, copyPlan, heldBytes, MATMUL_NAMES,
  matmulPlan, PASSES,
} from "./kernels.js";
import {
  exactAttention, exactProduct, LOOP_NAMES, LOOPS, randomNumbers, rowError, rowsToCheck, tolerance,
} from "./loops.js";
import { callsFor, mistimed, paired, quantiles, sample, Stopped } from "./sampling.js";

export const MEASURES = { attention: "attention", matmul: "matmul", sweep: "attention along T" };
const SWEEP = [512, 1024, 2048, 4096, 8192, 16384];
export const MOST_LOOPS = 4.1e8; // FLOPs of a call that plain loops are asked for: about a second
const LONGEST = 2; // seconds of a call; some systems take the device away after that

/** The rungs of a task, with what is counted before anything runs. */
export function linesOf({ measure, T, h, D, n }) {
  if (measure === "matmul") {
    const sizes = { n };
    return [
      ...MATMUL_NAMES.map((kernel) => [kernel, "float32"]), [MATMUL_NAMES.at(-1), "float16"],
    ].map(([kernel, dtype]) => {
      const plan = matmulPlan(kernel, { M: n, N: n, K: n }, dtype);
      return {
        group: "matmul", kernel, dtype, sizes, plan, loops: false, flops: 2 * n ** 3,
        bytes: 3 * n * n * bytesOf(dtype), held: heldBytes(plan),
      };
    });
  }
  const attend = (kernel, dtype, length) => {
    const plan = attentionPlan(kernel, { B: 1, h, Tq: length, Tk: length, D, causal: true }, dtype);
    return {
      group: measure === "sweep" ? "along T" : "ladder", kernel, dtype, plan, loops: false,
      sizes: { B: 1, h, T: length, head_dim: D }, flops: attentionFlops({ B: 1, h, T: length, D }),
      bytes: attentionBytes({ B: 1, h, T: length, D }, dtype, PASSES[kernel]), held: heldBytes(plan),
    };
  };
  if (measure === "sweep") return SWEEP.flatMap((length) => ATTENTION_NAMES.map((kernel) => attend(kernel, "float32", length)));
  const loops = LOOP_NAMES.map((kernel) => {
    const { dtype } = LOOPS[kernel];
    const bytes = attentionBytes({ B: 1, h, T, D }, dtype, 0) * (dtype === "float64" ? 2 : 1);
    return {
      group: "ladder", kernel, dtype, plan: null, loops: true, sizes: { B: 1, h, T, head_dim: D },
      flops: attentionFlops({ B: 1, h, T, D }), bytes, held: bytes / 4,
    };
  });
  return [...loops, ...ATTENTION_NAMES.map((kernel) => attend(kernel, "float32", T)),
    attend(ATTENTION_NAMES[1], "float16", T)];
}

// --- one run --------------------------------------------------------------------------------------

/** Random inputs, and a function that says how far a result is from float64. */
function problemOf({ group, sizes, dtype, flops }) {
  const narrow = (values) => (dtype === "float16" ? Float32Array.from(Float16Array.from(values)) : values);
  const matmul = group === "matmul";
  const { n, h, T, head_dim: D } = sizes;
  const [count, width] = matmul ? [n, n] : [h * T, D];
  const inputs = Object.fromEntries((matmul ? ["a", "b"] : ["q", "k", "v"]).map((name, i) =>
    [name, narrow(randomNumbers(count * width, i))]));
  if (!matmul) inputs.lengths = [T];
  const size = matmul ? { n } : { T, D, pairs: h };
  const rows = rowsToCheck(count, (2 * flops) / count); // the last row of causal attention is the dearest
  const exact = rows.map((row) => (matmul ? exactProduct : exactAttention)(inputs, size, row));
  const rowOf = (result, row) => result.slice(row * width, (row + 1) * width);
  return { inputs, size, rows: rows.length, of: count, error: (result) => rowError(rows.map((row) => rowOf(result, row)), exact) };
}

/** Which clock tells how long a kernel takes on this device. */
async function stopwatchOf(gpu, prepared) {
  const works = gpu.stamps && Number.isFinite(await stamped(gpu, prepared, 1));
  return works ? { how: "timestamps of the device", seconds: stamped, floor: 0.01 }
    : { how: "the page's clock, until the device says that it is done", seconds: awaited, floor: 0.04 };
}

/** A rung on the device, verified; throws what it must be told. */
async function onDevice(gpu, { plan, dtype }, { inputs, error }) {
  const prepared = await prepare(gpu, plan, inputs);
  try {
    await runOnce(gpu, prepared);
    const found = error(await read(gpu, prepared));
    if (!(found <= tolerance(dtype))) throw new GpuError(wrongText(found, dtype));
    return { prepared, found };
  } catch (problem) {
    prepared.destroy();
    throw problem;
  }
}

const wrongText = (found, dtype) =>
  `Wrong: a row is off by ${found.toPrecision(2)}, allowed ${tolerance(dtype).toPrecision(2)}; not timed.`;

const digits = (x) => Number(x.toPrecision(4));
const timingOf = (times) => {
  const { p20, p50, p80, spread } = quantiles(times);
  return [p20, p50, p80, spread].map(digits).concat(times.length);
};

/** Verify and time a task, rung by rung. `tell(i, state, words)` reports on line i, `progress(share)`
 * on all; `pass` lets the page breathe and throws Stopped. What was found until then is in `result`. */
export async function measure(task, { gpu, about, now, pass, tell, progress, budget, made = [] }) {
  const lines = linesOf(task);
  const result = { task, about, roof: {}, rows: [], missing: [], made, wrong: [] };
  const refuse = (i, reason) => {
    result.missing.push([i, reason]);
    tell(i, "missing", reason);
  };
  /** Runs `work` for a line; what goes wrong is that line's, unless the whole run is over. */
  const trying = async (i, work) => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Stopped || !(error instanceof GpuError)) throw error;
      refuse(i, error.message);
      if (/^The device (was lost|did not answer)/.test(error.message)) throw error;
      return null;
    }
  };
  const add = (i, times, error, reference) => {
    const pair = reference ? paired(reference, times) : null;
    const [p20, p50, p80, spread, samples] = timingOf(times);
    result.rows.push([i, p20, p50, p80, pair ? digits(pair.spread) : spread, samples, digits(error),
      ...(pair ? [pair.ratio, pair.ratio_p20, pair.ratio_p80].map(digits) : [null, null, null])]);
    tell(i, "done", "");
  };
  /** Times verified rungs in pairs with the first of them. */
  const together = async (rungs, seconds, least, start, share) => {
    if (!rungs.length) return;
    for (const { i } of rungs) tell(i, "timing", "");
    const times = await sample(rungs.map(({ seconds: one }) => one), {
      now, budget: seconds, least, pass: async (part) => {
        progress(start + share * part);
        await pass();
      },
    });
    rungs.forEach(({ i, error }, k) => add(i, times[k], error, k ? times[0] : null));
  };

  const oneCall = (clock, prepared, calls) => async () => {
    const seconds = await clock.seconds(gpu, prepared, calls);
    if (!(seconds > 0)) throw new GpuError("The clock of the device stood still.");
    return seconds / calls;
  };
  let latest = {}; // rungs that follow each other get the same inputs
  const posed = (line) => {
    const key = JSON.stringify([line.group, line.sizes, line.dtype === "float16"]);
    if (latest.key !== key) latest = { key, problem: problemOf(line) };
    return latest.problem;
  };

  const timeOnDevice = async (chosen, seconds, start, share) => {
    const rungs = [];
    try {
      for (const i of chosen) {
        await pass();
        const line = lines[i];
        const why = gpu ? refusal(gpu, line.plan) : "it needs WebGPU";
        if (why) {
          refuse(i, `Left out: ${why}.`);
          continue;
        }
        tell(i, "checking", "");
        await pass();
        await trying(i, async () => {
          const { prepared, found } = await onDevice(gpu, line, posed(line));
          rungs.push({ i, prepared, error: found });
          const clock = await stopwatchOf(gpu, prepared);
          result.about.clock = clock.how;
          const calls = await callsFor((count) => clock.seconds(gpu, prepared, count), clock.floor);
          rungs.at(-1).seconds = oneCall(clock, prepared, calls);
        });
      }
      const ready = rungs.filter((rung) => rung.seconds);
      // Ratios are between kernels that read the same numbers.
      for (const dtype of new Set(ready.map(({ i }) => lines[i].dtype))) {
        const own = ready.filter(({ i }) => lines[i].dtype === dtype);
        const part = share * (own.length / ready.length);
        await together(own, seconds * (own.length / ready.length), 5, start, part);
        start += part;
      }
      if (made.length) {
        for (const { i, prepared } of ready) {
          tell(i, "timing", "once more, with the mistakes");
          const wrong = await mistimed({
            submit: () => submit(gpu, prepared), upload: prepared.upload,
            wait: () => patiently(gpu, gpu.device.queue.onSubmittedWorkDone()), renew: () => prepared.renew(now()),
          }, made, { now, budget: seconds / 4, pass });
          result.wrong.push([i, digits(wrong)]);
          tell(i, "done", "");
        }
      }
      return ready.map(({ i }) => i);
    } finally {
      for (const { prepared } of rungs) prepared.destroy();
    }
  };

  try {
    const [loops, kernels] = [true, false].map((is) => [...lines.keys()].filter((i) => lines[i].loops === is));
    const own = loops.length ? 0.4 : 0;
    const rungs = [];
    for (const i of loops) {
      await pass();
      const { kernel, dtype, flops, sizes } = lines[i];
      if (flops > MOST_LOOPS) {
        refuse(i, "Left out: a call would hold up the page for seconds.");
        continue;
      }
      tell(i, "checking", "");
      await pass();
      const problem = posed(lines[i]);
      const { head, result: output } = LOOPS[kernel].ready(problem.inputs, problem.size);
      // Head by head, so that the page can breathe between two; the breath is not counted.
      const seconds = async (calls) => {
        let sum = 0;
        for (let pair = 0; pair < sizes.h; pair++) {
          const start = now();
          for (let call = 0; call < calls; call++) head(pair);
          sum += now() - start;
          await pass();
        }
        return sum;
      };
      const calls = await callsFor(seconds, 0.02 * sizes.h); // the clock starts and stops with each head
      const error = problem.error(output());
      // The numbers in arrays are float64, but what came in was float32.
      if (error <= tolerance(dtype)) rungs.push({ i, error, seconds: async () => (await seconds(calls)) / calls });
      else refuse(i, wrongText(error, dtype));
    }
    await together(rungs, budget * own, 3, 0, own);
    if (task.measure === "sweep") await sweep();
    else await timeOnDevice(kernels, budget * (0.8 - own), own, 0.8 - own);
    if (gpu) await roofs();
  } catch (error) {
    if (!(error instanceof Stopped || error instanceof GpuError)) throw error;
    result.ended = error.message;
  }
  return result;

  async function sweep() {
    const lengths = [...new Set(lines.map(({ sizes }) => sizes.T))];
    const last = {}; // the latest time of each kernel, from which the next is foretold
    for (const [k, T] of lengths.entries()) {
      const wanted = [...lines.keys()].filter((i) => lines[i].sizes.T === T).filter((i) => {
        const before = last[lines[i].kernel];
        const soon = before && before.p50 * (lines[i].flops / before.flops);
        if (soon > LONGEST) refuse(i, `Left out: a call would take about ${Math.round(soon)} s.`);
        return !(soon > LONGEST);
      });
      const share = 0.8 / lengths.length;
      await timeOnDevice(wanted, budget * share, k * share, share);
      for (const [i, , p50] of result.rows) last[lines[i].kernel] = { p50, flops: lines[i].flops };
    }
  }

  /** The roof: a copy, and the fastest of the matmuls, in every dtype that was timed. */
  async function roofs() {
    const [floats, side] = about.software ? [2 ** 20, 128] : [2 ** 24, 1024];
    const dtypes = [...new Set(result.rows.map(([i]) => lines[i]).filter(({ loops }) => !loops).map(({ dtype }) => dtype))];
    for (const [k, dtype] of dtypes.entries()) {
      const wanted = {
        copy: { plan: copyPlan(floats), dtype: "float32", bytes: 8 * floats },
        matmul: {
          plan: matmulPlan(MATMUL_NAMES.at(-1), { M: side, N: side, K: side }, dtype), dtype, flops: 2 * side ** 3,
          bytes: 3 * side * side * bytesOf(dtype), sizes: { n: side }, group: "matmul",
        },
      };
      const found = {};
      for (const [j, [kind, line]] of Object.entries(wanted).entries()) {
        await pass();
        const x = kind === "copy" ? randomNumbers(floats, 0) : null;
        const problem = x ? { inputs: { x }, error: (y) => (y.every((value, i) => value === x[i]) ? 0 : NaN) } : problemOf(line);
        const { prepared } = await onDevice(gpu, line, problem);
        try {
          const clock = await stopwatchOf(gpu, prepared);
          const calls = await callsFor((count) => clock.seconds(gpu, prepared, count), clock.floor);
          const [times] = await sample([oneCall(clock, prepared, calls)], {
            now, budget: (0.1 * budget) / dtypes.length, pass: async (part) => {
              progress(0.8 + (0.1 * (2 * k + j + part)) / dtypes.length);
              await pass();
            },
          });
          found[kind] = [...timingOf(times), line.flops ?? null, line.bytes];
        } finally {
          prepared.destroy();
        }
      }
      result.roof[dtype] = found;
    }
  }
}

// --- the record -----------------------------------------------------------------------------------

const TIMED = ["p20", "p50", "p80", "spread", "samples"];

/** Name and version of the browser, as far as it tells them. */
export function browserOf(agent) {
  const names = { Edg: "Edge", OPR: "Opera", Firefox: "Firefox", Chrome: "Chromium", Version: "Safari" };
  const found = Object.keys(names).map((key) => [names[key], new RegExp(`${key}/([\\d.]+)`).exec(agent)?.[1]])
    .find(([, version]) => version);
  return found ? found.join(" ") : "unknown";
}

/** A result as a record: hydra_lib/records/schema.py. */
export function recordOf({ task, about, roof, rows, missing, made, wrong }) {
  const lines = linesOf(task);
  const reference = (i) => rows.map(([k]) => lines[k]).find((line) =>
    line.loops === lines[i].loops && line.dtype === lines[i].dtype && line.sizes.T === lines[i].sizes.T);
  const ceilings = Object.fromEntries(Object.entries(roof).map(([dtype, both]) =>
    [dtype, Object.fromEntries(Object.entries(both).map(([kind, values]) => {
      const timed = Object.fromEntries([...TIMED, "flops", "bytes"].map((key, k) => [key, values[k]]));
      return [kind, { ...timed, dtype: kind === "copy" ? "float32" : dtype, flush: false }];
    }))]));
  return {
    what: `Measured by a reader in a browser: ${MEASURES[task.measure]}`,
    environment: {
      device: about.device, cpu: about.cpu, threads: about.threads, tf32: false,
      versions: { browser: about.browser }, date: about.date,
    },
    settings: { software: about.software, clock: about.clock, clock_step: about.step, agent: about.agent },
    ...(Object.keys(ceilings).length ? { ceilings } : {}),
    rows: rows.map(([i, p20, p50, p80, spread, samples, error, ratio, low, high]) => {
      const { group, kernel, dtype, sizes, flops, bytes, held } = lines[i];
      return {
        group, kernel, dtype, pass: "forward", ...sizes, p20, p50, p80, samples, flops, bytes, spread,
        reference: ratio === null ? null : reference(i).kernel, ratio, ratio_p20: low, ratio_p80: high, error,
        peak_bytes: held,
      };
    }),
    missing: missing.map(([i, reason]) => ({ group: lines[i].group, what: nameOf(lines[i]), reason })),
    mistakes: wrong.map(([i, seconds]) => ({ kernel: nameOf(lines[i]), made, seconds })),
  };
}

/** A rung's name with what tells it from its neighbours. */
export function nameOf({ kernel, dtype, group, sizes }) {
  return `${group === "along T" ? `T = ${sizes.T}, ` : ""}${kernel}${dtype === "float16" ? ", float16" : ""}`;
}

const texts = (values) => values.every((value) => typeof value === "string" && value.length < 300);
const amounts = (values) => Array.isArray(values) && values.every((x) => x === null || (Number.isFinite(x) && x >= 0));

/** Whether a link's result can be shown: everything of the kind and number that a run leaves. */
export function isResult(value, fitsTask) {
  try {
    const { task, about, roof, rows, missing, made, wrong } = value;
    if (!fitsTask(task)) return false;
    const count = linesOf(task).length;
    const line = ([i]) => Number.isInteger(i) && i >= 0 && i < count;
    return texts([about.device, about.cpu, about.browser, about.date, about.agent, about.clock ?? ""])
      && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(about.date) && texts(made)
      && Object.values(roof).every((both) => ["copy", "matmul"].every((kind) =>
        amounts(both[kind]) && both[kind].length === 7 && both[kind][1] > 0))
      && rows.every((row) => amounts(row) && row.length === 10 && line(row) && row.slice(1, 4).every((x) => x > 0))
      && missing.every((one) => line(one) && texts([one[1]]) && one.length === 2)
      && wrong.every((one) => amounts(one) && line(one) && one.length === 2);
  } catch {
    return false;
  }
}
