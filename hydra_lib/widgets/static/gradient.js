// One row of attention and what its scores learn, as hydra_lib/backward.py has it. No DOM.
import { product } from "./aggregation.js";
import { boltzmann } from "./boltzmann.js";

/** The row that `scores` make of `values`, its loss ½‖output − target‖², and the push on each score,
 * −∂loss/∂score = p_j · (target − output)·(v_j − output): a weight times how far v_j lies that way.
 * @param {number[]} scores @param {number[][]} values @param {number[]} target */
export function learning(scores, values, target) {
  const { p } = boltzmann(scores, 1);
  const [output] = product([p], values);
  const way = target.map((t, c) => t - output[c]);
  const pull = values.map((v) => way.reduce((total, w, c) => total + w * (v[c] - output[c]), 0));
  const loss = way.reduce((total, w) => total + w * w, 0) / 2;
  return { p, output, loss, pull, push: p.map((weight, j) => weight * pull[j]) };
}

/** Steps of gradient descent: the loss before each, and where they lead. Where one leads beyond ±most, all scores are
 * shifted back by one number, which changes no weight; only such as lie further apart than 2 · most are cut.
 * @param {number[]} scores @param {number[][]} values @param {number[]} target */
export function descent(scores, values, target, { rate, most, steps }) {
  const losses = [];
  for (let i = 0; i < steps; i += 1) {
    const { loss, push } = learning(scores, values, target);
    losses.push(loss);
    const moved = scores.map((s, j) => s + rate * push[j]);
    const [low, high] = [Math.min(...moved), Math.max(...moved)];
    const shift = high - low > 2 * most ? (low + high) / 2 : Math.max(0, high - most) + Math.min(0, low + most);
    scores = moved.map((s) => Math.min(most, Math.max(-most, s - shift)));
  }
  return { losses, scores };
}
