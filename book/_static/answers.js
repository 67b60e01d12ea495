// Judges what a reader types into a page: the checks of hydra_lib/exercises/compare.py without a
// kernel, by the same facts and in the same words. No DOM here; answers_form.js shows it.
// oxlint-disable-next-line no-unused-vars -- answers_form.js uses it
const answers = (() => {
  const POWER_OR_E = /^[\d.]+e[+-]\d$/i; // 2e-1; Python prints two digits, 2e-01
  const TOKEN = /[1-9]\d{0,2}(?:,\d{3})+(?![\d,])|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?|[a-z]+|\*\*|\S/gi;
  const CONSTANTS = { e: Math.E, inf: Infinity, nan: NaN };
  const FUNCTIONS = { exp: Math.exp, ln: Math.log, log: Math.log, sqrt: Math.sqrt, "√": Math.sqrt };

  /** A number, or sums, products, powers, roots and brackets of numbers: 0.8, 4/5, 7^4 · 64^3, 2/ln(10). */
  function typed(text) {
    if (!text.trim()) throw new Error("expected a number in each field, one is empty");
    if (/^\s*[=≈~]?\s*[-−+]?\d+,\d+\s*$/.test(text) && !/[1-9]\d{0,2},\d{3}\b/.test(text))
      throw new Error(`expected numbers, got the text '${text.trim()}': write ${text.trim().replace(",", ".")}, with a point`);
    const plain = text.replace(/^\s*[=≈~]/, "").replace(/[−–‐‑]/g, "-").replace(/[×·⋅∙•∗]|(?<![a-z])x(?![a-z])/gi, "*").replace(/[÷⁄∕]/g, "/").replace(/∞/g, "inf")
      .replace(/[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (raised) => `^(${[...raised].map((one) => "0123456789-"["⁰¹²³⁴⁵⁶⁷⁸⁹⁻".indexOf(one)]).join("")})`)
      .replace(/\b(?:math|np|numpy|torch)\.(?=[a-z])/gi, "")
      .replace(/[½⅓¼⅕⅛]/g, (part) => `(1/${{ "½": 2, "⅓": 3, "¼": 4, "⅕": 5, "⅛": 8 }[part]})`)
      .replace(/(?<![\d.,_^])[1-9]\d{0,2}(?:\s\d{3})+(?!\d)/g, (grouped) => grouped.replace(/\s/g, ""));
    const tokens = plain.match(TOKEN) ?? [];
    const refuse = () => {
      throw new Error(`expected numbers, got the text '${text.trim()}': write 0.8, 4/5, 7^4, sqrt(2), 2*e or 2*ln(10), without % or a unit`);
    };
    const twofold = tokens.length > (/^[+-]/.test(tokens[0]) ? 2 : 1) && tokens.find((token) => POWER_OR_E.test(token));
    if (twofold) {
      const [factor, rest] = twofold.split(/e/i);
      throw new Error(`${twofold} can be read in two ways: write ${factor}*e${rest} or ${factor}*10^${Number(rest)}`);
    }
    const take = (...wanted) => (wanted.includes(tokens[0]) ? tokens.shift() : undefined);
    function sum() {
      let x = product();
      for (let sign; (sign = take("+", "-")); ) x += sign === "+" ? product() : -product();
      return x;
    }
    function product() {
      let x = signed();
      for (let sign; (sign = take("*", "/")); ) x = sign === "*" ? x * signed() : x / signed();
      return x;
    }
    const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
    function power() {
      const base = atom();
      return take("^", "**") ? base ** signed() : base;
    }
    function atom() {
      if (take("(")) {
        const x = sum();
        return take(")") ? x : refuse();
      }
      const token = (tokens.shift() ?? refuse()).toLowerCase();
      if (Object.hasOwn(CONSTANTS, token)) return CONSTANTS[token];
      if (Object.hasOwn(FUNCTIONS, token)) // ln 10^2 could be two numbers
        return token === "√" || tokens[0] === "(" ? FUNCTIONS[token](atom()) : refuse();
      const x = /\d/.test(token) ? Number(token.replace(/[,_]/g, "")) : NaN;
      return Number.isNaN(x) ? refuse() : x;
    }
    const x = sum();
    return tokens.length ? refuse() : x;
  }

  /** As Python writes f"{x:.4g}", with as many digits. */
  function general(x, digits) {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e").map(Number);
    if (x === 0 || (exponent >= -4 && exponent < digits)) return String(Number(x.toPrecision(digits)));
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }

  /** A number in four digits, or in ten or fifteen where fewer would show the other one; a whole one in full. */
  function toldApart(x, other) {
    if (Number.isInteger(x) && Math.abs(x) < 1e15) return String(x);
    return general(x, [4, 10].find((digits) => general(x, digits) !== general(other, digits)) ?? 15);
  }

  /** What differs, in words; null where nothing does. */
  function difference(got, expected, within) {
    const largest = Math.max(0, ...expected.filter(Number.isFinite).map(Math.abs));
    const tolerance = within ?? 1e-5 * (largest || 1);
    const at = got.findIndex((x, i) => x !== expected[i] && !(Math.abs(x - expected[i]) <= tolerance));
    if (at < 0) return null;
    const said = toldApart(got[at], expected[at]);
    return got.length === 1 ? `${said} is not right` : `entry [${at}] is ${said}, and should not be`;
  }

  /** Whether it is the right answer, rounded to `fewest` digits or more. */
  function rounded(got, expected, fewest) {
    const near = (x, y) =>
      x === y || (Number.isFinite(x - y) && Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y)));
    const digits = [1, 2, 3, 4, 5, 6, 7, 8].slice(fewest - 1);
    return digits.some((d) => got.every((x, i) => near(x, Number(expected[i].toPrecision(d)))));
  }

  /** A verdict on the options that were chosen. */
  function chosen({ options, refused, missing }, got) {
    const wrong = got.find((n) => n in refused);
    if (wrong !== undefined) return { right: false, says: refused[wrong] };
    const right = options.every((n) => n in refused || got.includes(n));
    return { right, says: right ? "Right." : missing };
  }

  /** A verdict on numbers, or on the options that were chosen. */
  function judged(facts, got) {
    if (facts.options) return chosen(facts, got);
    const expected = facts.right.map(Number); // JSON knows no infinity: it comes as a text
    const { tolerance, within } = facts;
    const wrong = difference(got, expected, tolerance);
    if (wrong === null) return { right: true, says: "Right." };
    // No number but a small one is near to a small one, and to one larger than what is right, the same share of it.
    const size = (all) => Math.max(...all.map(Math.abs));
    const near = (m) => (within && Number.isFinite(size(m))
      ? Math.min(within * Math.max(1, size(m) / size(expected)), 0.02 * size(m)) : within);
    const apart = (m) => Math.max(...got.map((x, i) => (x === m[i] ? 0 : Math.abs(x - m[i]))));
    const known = facts.mistakes.map(([m, says]) => ({ m: m.map(Number), says }));
    const [nearest] = known.filter(({ m }) => difference(got, m, near(m)) === null).sort((a, b) => apart(a.m) - apart(b.m));
    if (nearest) return { right: false, says: nearest.says };
    if (rounded(got, expected, within ? 1 : 3)) return { right: false, says: facts.digits };
    const fewer = known.find(({ m }) => rounded(got, m, within ? 2 : 3));
    if (fewer) return { right: false, says: fewer.says };
    const close = within && difference(got, expected, facts.band * size(expected)) === null;
    return { right: false, says: close ? facts.close : wrong };
  }

  /** A verdict on what was typed. */
  function answered(facts, texts) {
    const verdict = judged(facts, texts.map(typed));
    for (const [says, wanted, meant] of [
      ["a comma groups thousands here", /(?<![\d.,])(\d{1,3}),(\d{3})(?![\d,])/g, "$1.$2"],
      ["a point is decimal here", /^\s*(\d{1,3})\.(\d{3})\s*$/, "$1$2"],
    ]) {
      const read = texts.map((text) => text.replace(wanted, meant));
      if (!verdict.right && read.join() !== texts.join() && judged(facts, read.map(typed)).right)
        throw new Error(`${says}: write ${read.join(" and ")}`);
    }
    return verdict;
  }

  return { typed, judged, answered };
})();
