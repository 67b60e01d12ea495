// A WebGPU device: what it has, a plan of kernels made ready, run and timed on it. No DOM, but a GPU.
import { pageSeconds } from "./sampling.js";

/** Something that the reader is told in a sentence: what is missing, too small or lost. */
export class GpuError extends Error {}

/** A kernel that does not compile; `messages` are those of the compiler, with lines of the kernel. */
export class CompileError extends GpuError {
  constructor(messages) {
    super(`The kernel does not compile: ${messages.map(({ line, text }) => `line ${line}: ${text}`).join("; ")}`);
    this.messages = messages;
  }
}

const PATIENCE = 30; // seconds; a device that answers later has hung, or will be taken away
const LIMITS = ["maxStorageBufferBindingSize", "maxBufferSize", "maxComputeWorkgroupStorageSize"];
const BINDING = /@binding\((\d+)\) var<(uniform|storage, read|storage, read_write)>/g;
const KINDS = { uniform: "uniform", "storage, read": "read-only-storage", "storage, read_write": "storage" };
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render|\bwarp\b/i;
// By https://github.com/gpuweb/gpuweb/wiki/Implementation-Status.
const WHERE = "Chrome and Edge have it from version 113, Safari from 26, Firefox from 141, not yet on every system";

/** What a page without `navigator.gpu` is told. */
export function withoutGpu(secure) {
  return secure ? `This browser has no WebGPU. ${WHERE}.`
    : "This page did not come over https, and browsers give WebGPU only to pages that do, or that come from localhost "
      + "or a file.";
}

/** Ask for a device with all that the adapter grants. */
export async function openGpu(gpu, secure) {
  if (!gpu) throw new GpuError(withoutGpu(secure));
  const soon = (promise) => patiently({ lost: new Promise(() => {}) }, promise);
  const adapter = await soon(gpu.requestAdapter());
  if (!adapter) throw new GpuError(`This browser has WebGPU, but gives this page no device. ${WHERE}.`);
  const { vendor, architecture, device: model, description } = adapter.info;
  const names = [vendor, architecture, model, description].filter(Boolean);
  const has = (feature) => adapter.features.has(feature);
  const device = await soon(adapter.requestDevice({
    requiredFeatures: ["timestamp-query", "shader-f16"].filter(has),
    requiredLimits: Object.fromEntries(LIMITS.map((limit) => [limit, adapter.limits[limit]])),
  })).catch((error) => {
    throw new GpuError(`The browser refuses the device: ${error.message}`);
  });
  const lost = device.lost.then(({ message }) => {
    throw new GpuError(`The device was lost${message ? `: ${message}` : ""}. A kernel that runs for seconds can cause that.`);
  });
  lost.catch(() => {}); // told by whoever waits for the device
  return {
    device, lost, limits: device.limits, pipelines: new Map(),
    name: names.join(" ") || "a GPU without a name",
    software: Boolean(adapter.info.isFallbackAdapter) || names.some((name) => SOFTWARE.test(name)),
    stamps: has("timestamp-query"),
    half: has("shader-f16") && typeof Float16Array !== "undefined",
  };
}

/** Wait for the device, but not for ever. */
export async function patiently(gpu, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new GpuError(`The device did not answer for ${PATIENCE} seconds.`)), PATIENCE * 1000);
  });
  try {
    return await Promise.race([promise, gpu.lost, late]);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    // What waits for a device that is lost fails, often before the loss is told.
    await Promise.race([gpu.lost, new Promise((done) => setTimeout(done, 200))]);
    throw new GpuError(error.message);
  } finally {
    clearTimeout(timer);
  }
}

const arrayOf = (name, dtype) =>
  (name === "lengths" ? Uint32Array : dtype === "float16" ? Float16Array : Float32Array);

const size = (bytes) => (bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : bytes >= 1e6
  ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e3).toFixed(1)} kB`);

/** Why this device cannot run a plan, or null. */
export function refusal({ limits, half }, { buffers, dtype, shared, steps }) {
  if (dtype === "float16" && !half) return "this device or browser has no float16";
  if (shared > limits.maxComputeWorkgroupStorageSize) {
    return `it needs ${size(shared)} of workgroup memory; this device gives ${size(limits.maxComputeWorkgroupStorageSize)}`;
  }
  const most = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  for (const [name, count] of Object.entries(buffers)) {
    const bytes = count * arrayOf(name, dtype).BYTES_PER_ELEMENT;
    if (bytes > most) return `${name} would take ${size(bytes)}; a buffer here holds at most ${size(most)}`;
  }
  const longest = Math.max(...steps.flatMap(({ groups }) => groups));
  if (longest > limits.maxComputeWorkgroupsPerDimension) {
    return `it needs ${longest} workgroups in a line; this device takes ${limits.maxComputeWorkgroupsPerDimension}`;
  }
  return null;
}

/** The errors of `work` on the device, in a sentence. */
async function scoped({ device }, work) {
  const kinds = ["validation", "out-of-memory", "internal"];
  for (const kind of kinds) device.pushErrorScope(kind);
  let value;
  let thrown = null;
  try {
    value = await work();
  } catch (error) {
    thrown = error;
  }
  for (const kind of kinds.toReversed()) {
    const error = await device.popErrorScope();
    const words = kind === "out-of-memory" ? "The device has no memory left for this" : error?.message;
    if (error && !thrown) thrown = new GpuError(words);
  }
  if (thrown) throw thrown;
  return value;
}

/** One kernel as a pipeline; raises CompileError with lines counted in `text` alone. */
export async function compile({ device }, { prelude, text }) {
  const module = device.createShaderModule({ code: prelude + text });
  const { messages } = await module.getCompilationInfo();
  const before = prelude.split("\n").length - 1;
  const errors = messages.filter(({ type }) => type === "error")
    .map(({ lineNum, message }) => ({ line: Math.max(1, lineNum - before), text: message }));
  if (errors.length) throw new CompileError(errors);
  // The layout is the kernel's own; "auto" would leave out what its text does not use.
  const entries = [...(prelude + text).matchAll(BINDING)].map(([, binding, kind]) => ({
    binding: Number(binding), visibility: GPUShaderStage.COMPUTE, buffer: { type: KINDS[kind] },
  }));
  const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
  return device.createComputePipelineAsync({ layout, compute: { module } });
}

/** The same, compiled once a device: a kernel does not depend on its sizes. */
async function pipelineOf(gpu, step) {
  const key = step.prelude + step.text;
  if (!gpu.pipelines.has(key)) gpu.pipelines.set(key, await compile(gpu, step));
  return gpu.pipelines.get(key);
}

/** A plan on the device: buffers filled with `inputs` (an array for each), kernels compiled. */
export async function prepare(gpu, plan, inputs) {
  for (const name of plan.inputs) {
    const [count, found] = [plan.buffers[name], inputs[name].length];
    if (found !== count) throw new Error(`${name} must have ${count} numbers, got ${found}`);
  }
  const why = refusal(gpu, plan);
  if (why) throw new GpuError(`Left out: ${why}.`);
  const { device } = gpu;
  const use = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffers = {};
  let sizes = null;
  const destroy = () => [...Object.values(buffers), sizes].forEach((buffer) => buffer?.destroy());
  const upload = () => {
    for (const name of plan.inputs) device.queue.writeBuffer(buffers[name], 0, padded(inputs[name], name, plan.dtype));
  };
  const bound = (pipelines) => pipelines.map((pipeline, i) => device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [...plan.steps[i].buffers, ...(sizes ? ["sizes"] : [])].map((name, binding) =>
      ({ binding, resource: { buffer: name === "sizes" ? sizes : buffers[name] } })),
  }));
  try {
    return await patiently(gpu, scoped(gpu, async () => {
      for (const [name, count] of Object.entries(plan.buffers)) {
        const bytes = count * arrayOf(name, plan.dtype).BYTES_PER_ELEMENT;
        buffers[name] = device.createBuffer({ size: Math.ceil(bytes / 4) * 4, usage: use });
      }
      if (plan.sizes.length) {
        sizes = device.createBuffer({ size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
        device.queue.writeBuffer(sizes, 0, new Uint32Array(plan.sizes));
      }
      upload();
      const ready = { pipelines: await Promise.all(plan.steps.map((step) => pipelineOf(gpu, step))) };
      ready.groups = bound(ready.pipelines);
      return {
        plan, buffers, upload, destroy,
        /** Compile everything anew; `fresh` makes the text new to the browser's cache as well. */
        renew: async (fresh) => {
          ready.pipelines = await Promise.all(plan.steps.map((step) =>
            compile(gpu, { ...step, text: `${step.text}// ${fresh}\n` })));
          ready.groups = bound(ready.pipelines);
        },
        /** The launches of one call into a pass. */
        encode: (pass) => plan.steps.forEach(({ groups }, i) => {
          pass.setPipeline(ready.pipelines[i]);
          pass.setBindGroup(0, ready.groups[i]);
          pass.dispatchWorkgroups(...groups);
        }),
      };
    }));
  } catch (error) {
    destroy();
    throw error;
  }
}

/** A copy as the device takes it: of the plan's dtype, its bytes a multiple of four. */
function padded(values, name, dtype) {
  const Kind = arrayOf(name, dtype);
  const whole = new Kind(Math.ceil((values.length * Kind.BYTES_PER_ELEMENT) / 4) * (4 / Kind.BYTES_PER_ELEMENT));
  whole.set(values);
  return whole;
}

/** Queue `calls` calls; the work has not begun when this returns. */
export function submit({ device }, { encode }, calls = 1, timestampWrites = undefined, after = () => {}) {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass({ timestampWrites });
  for (let i = 0; i < calls; i++) encode(pass);
  pass.end();
  after(encoder);
  device.queue.submit([encoder.finish()]);
}

/** Run once and wait; raises what went wrong. */
export function runOnce(gpu, prepared) {
  return patiently(gpu, scoped(gpu, async () => {
    submit(gpu, prepared);
    await gpu.device.queue.onSubmittedWorkDone();
  }));
}

/** The numbers of the output. */
export async function read(gpu, { plan, buffers }) {
  const { device } = gpu;
  const output = buffers[plan.output];
  const back = device.createBuffer({ size: output.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  try {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(output, 0, back, 0, output.size);
    device.queue.submit([encoder.finish()]);
    await patiently(gpu, back.mapAsync(GPUMapMode.READ));
    const Kind = arrayOf(plan.output, plan.dtype);
    return new Kind(back.getMappedRange().slice(0)).slice(0, plan.buffers[plan.output]);
  } finally {
    back.destroy();
  }
}

/** Seconds of `calls` calls by the device's own clock; NaN where its stamps do not tell. */
export async function stamped(gpu, prepared, calls) {
  const { device } = gpu;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const resolved = device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const back = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  try {
    submit(gpu, prepared, calls, { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 }, (encoder) => {
      encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, back, 0, 16);
    });
    await patiently(gpu, back.mapAsync(GPUMapMode.READ));
    const [start, end] = new BigUint64Array(back.getMappedRange().slice(0));
    return end > start ? Number(end - start) / 1e9 : NaN;
  } finally {
    for (const one of [querySet, resolved, back]) one.destroy();
  }
}

/** Seconds of `calls` calls by the page's clock, which stops when the device says that it is done. */
export async function awaited(gpu, prepared, calls, now = pageSeconds) {
  const start = now();
  submit(gpu, prepared, calls);
  await patiently(gpu, gpu.device.queue.onSubmittedWorkDone());
  return now() - start;
}
