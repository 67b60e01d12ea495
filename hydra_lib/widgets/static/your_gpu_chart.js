// Times of the reader's machine on a logarithmic axis, one line a rung.
import { scale, ticks } from "./chart.js";
import { TIME, timeText, unitFor } from "./records.js";
import { brief, svg } from "./ui.js";

const [ACROSS, STEP, MARGIN] = [340, 30, 8];

const anchorOf = (x) => (x < 24 ? "start" : x > ACROSS - 24 ? "end" : "middle");

/** `entries` are {name, p20, p50, p80, wrong, own}; those of records are not the reader's own. */
export function drawTimes(node, entries) {
  const height = entries.length * STEP + 44;
  node.setAttribute("viewBox", `0 0 ${ACROSS} ${height}`);
  const all = entries.flatMap(({ p20, p50, p80, wrong }) => [p20 ?? p50, p80 ?? p50, wrong || p50]);
  const axis = { low: Math.min(...all) / 1.5, high: Math.max(...all) * 1.5, log: true };
  const x = scale(axis, MARGIN, ACROSS - MARGIN);
  const bottom = entries.length * STEP + 8;
  const dot = (seconds, y, more = {}) => svg("circle", { cx: x(seconds), cy: y, r: 4.5, ...more });
  node.replaceChildren(
    ...ticks(axis, 5).flatMap((seconds) => {
      const [unit, size] = unitFor(seconds, TIME);
      return [svg("line", { x1: x(seconds), y1: 0, x2: x(seconds), y2: bottom, class: "hydra-grid" }),
        svg("text", { x: x(seconds), y: bottom + 14, "text-anchor": anchorOf(x(seconds)) }, `${brief(seconds / size)} ${unit}`)];
    }),
    svg("line", { x1: MARGIN, y1: bottom, x2: ACROSS - MARGIN, y2: bottom, class: "hydra-base" }),
    svg("text", { x: ACROSS - MARGIN, y: bottom + 29, "text-anchor": "end" }, "time of one call"),
  );
  entries.forEach(({ name, p20, p50, p80, wrong, own }, i) => {
    const y = i * STEP + 24;
    const late = x(p50) > ACROSS / 2;
    node.append(svg("g", { class: own ? "hydra-point hydra-picked" : "hydra-point" },
      svg("text", { x: x(p50), y: y - 9, "text-anchor": late ? "end" : "start" }, `${name}: ${timeText(p50)}`),
      ...(p20 ? [svg("line", { x1: x(p20), y1: y, x2: x(p80), y2: y, class: "hydra-lead hydra-span" })] : []),
      dot(p50, y), ...(wrong ? [dot(wrong, y, { class: "hydra-mistaken" })] : [])));
  });
}
