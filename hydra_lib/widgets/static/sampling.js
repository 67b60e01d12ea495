// How often, in which order and until when a thing is timed; hydra_lib/timing/sampling.py. No DOM.

/** The reader, or the browser, has ended a run. */
export class Stopped extends Error {}

/** The page's clock. */
export const pageSeconds = () => performance.now() / 1000;

function quantile(ordered, share) {
  const place = share * (ordered.length - 1);
  const [low, high] = [ordered[Math.floor(place)], ordered[Math.ceil(place)]];
  return low + (high - low) * (place - Math.floor(place));
}

/** The quantiles 0.2, 0.5, 0.8 (interpolated), and the relative half-width of the median's 95 %
 * interval, between order statistics: hydra_lib.timing.sampling.spread. */
export function quantiles(values) {
  const ordered = Float64Array.from(values).sort();
  const n = ordered.length;
  const [p20, p50, p80] = [0.2, 0.5, 0.8].map((share) => quantile(ordered, share));
  const reach = 0.98 * Math.sqrt(n) + 0.5;
  const low = Math.max(0, Math.floor(n / 2 - reach));
  const high = Math.min(n, Math.ceil(n / 2 + reach)) - 1;
  return { p20, p50, p80, spread: (ordered[high] - ordered[low]) / 2 / p50 };
}

/** The step of a clock: the least that it was seen to move by. Browsers make it coarse. */
export function clockStep(now) {
  let least = Infinity;
  for (let i = 0; i < 20; i++) {
    const start = now();
    let then = start;
    while (then === start) then = now();
    least = Math.min(least, then - start);
  }
  return least;
}

/** How many calls a sample must hold to last `floor` seconds; `seconds(calls)` times so many. */
export async function callsFor(seconds, floor, most = 2 ** 14) {
  let calls = 1;
  for (;;) {
    const took = await seconds(calls);
    if (took >= floor || calls >= most) return calls;
    const factor = took > 0 ? Math.min(16, (1.3 * floor) / took) : 16;
    calls = Math.min(most, Math.ceil(calls * factor));
  }
}

/** Seconds of every call: a list for each of `timed`, functions that return a promise of seconds.
 *
 * A round calls each once, every other round in reverse. After a warm-up of a tenth of `budget`,
 * rounds go on until the spread of the first one's time over each other's (of its own time, if it
 * is alone) is at most `precision`, at least 20 rounds and a tenth of the budget; or until the
 * budget is over, at least `least` rounds. `pass` runs between rounds with the share that is over;
 * it may throw Stopped. */
export async function sample(timed, { now, budget, precision = 0.02, least = 5, pass = () => {} }) {
  const began = now();
  do {
    for (const seconds of timed) {
      await pass(0);
      await seconds();
    }
  } while (now() - began < budget / 10);
  const times = timed.map(() => []);
  const start = now();
  for (let round = 0, look = 20; ; round++) {
    const order = [...timed.keys()];
    for (const i of round % 2 ? order.reverse() : order) {
      await pass(Math.min(1, (now() - start) / budget));
      times[i].push(await timed[i]());
    }
    const [spent, rounds] = [now() - start, round + 1];
    if (rounds >= least && spent >= budget) return times;
    if (rounds >= look && spent >= budget / 10) {
      const known = ratios(times).every((values) => quantiles(values).spread <= precision);
      if (known) return times;
      look = Math.ceil(rounds * 1.1); // looking costs a sort
    }
  }
}

/** Of each but the first: how often its time goes into the first one's of the same round. */
function ratios([first, ...others]) {
  return others.length ? others.map((times) => times.map((time, i) => first[i] / time)) : [first];
}

/** Quantiles of the reference's time over a kernel's, from pairs. */
export function paired(reference, times) {
  const { p20, p50, p80, spread } = quantiles(times.map((time, i) => reference[i] / time));
  return { ratio: p50, ratio_p20: p20, ratio_p80: p80, spread };
}

/** The mistakes that can be switched on, and what each says of itself. */
export const MISTAKES = {
  no_wait: "do not wait for the device",
  cold: "no warm-up: the first call",
  upload: "count the upload of the inputs",
  pipeline: "count compiling the kernel",
  one_sample: "one sample",
};

/** Seconds of a call, timed with the mistakes that are named in `made`, by the page's clock.
 *
 * `submit` queues a call, `wait` waits for the device, `upload` sends the inputs, `renew` compiles
 * anew. The median of at most 20 samples, no new one after `budget` seconds. */
export async function mistimed({ submit, wait, upload, renew }, made, { now, budget = 1, pass = () => {} }) {
  const has = (mistake) => made.includes(mistake);
  if (has("cold")) await renew(); // a kernel that has never run
  else submit();
  await wait();
  const times = [];
  const began = now();
  do {
    await pass();
    const start = now();
    if (has("pipeline")) await renew();
    if (has("upload")) upload();
    submit();
    if (!has("no_wait")) await wait();
    times.push(now() - start);
    await wait();
  } while (!has("cold") && !has("one_sample") && times.length < 20 && now() - began < budget);
  return quantiles(times).p50;
}
