// A stopwatch for a queue, and what is wrong with the waits in it. No DOM.

/** The lines of the stopwatch; between two of them there is a place for a wait, null. */
export const STOPWATCH = [
  "queue.submit([earlier]);", null, "const start = performance.now();", null, "queue.submit([kernel]);", null,
  "const stop = performance.now();", null,
];

/** Whether waits at the four places measure the kernel, and what they measure otherwise. */
export function verdict([first, second, third, last]) {
  if (!third) {
    const late = last ? " The wait after the clock stops comes too late." : "";
    const before = first ? " and a round trip to the device, for the wait before it" : " and the earlier work";
    const shown = `the launch${second ? before : ""}`;
    return { right: false, words: `A wait is missing before the clock stops: you timed only ${shown}; the kernel is still in the queue.${late}` };
  }
  if (!first) {
    const counted = second ? " The wait before the launch, for that work, comes after the start, so it is counted too." : "";
    return { right: false, words: `The queue was not empty when the clock started: this time includes the earlier work.${counted}` };
  }
  const round = second ? " The wait before the launch is counted too: one round trip to the device." : "";
  const more = round + (last ? " The last wait comes after the clock has stopped and changes nothing." : "");
  return { right: true, words: `Right: the queue is empty when the clock starts, and the kernel is done when it stops.${more}` };
}

/** Seconds that the stopwatch shows. `earlier` and `kernel` queue work, `wait` waits for all of it. */
export async function stopwatchTime(waits, { earlier, kernel, wait, now }) {
  const here = async (place) => waits[place] && wait();
  earlier();
  await here(0);
  const start = now();
  await here(1);
  kernel();
  await here(2);
  const seconds = now() - start;
  await wait(); // whatever was forgotten: the next run begins with an empty queue
  return seconds;
}
