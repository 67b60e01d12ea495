// Typesets formulas for the build: one JSON line in, {tex, display}, one JSON line out, {html} or
// {error}. Argument: the folder of MathJax 3 that sphinx-mathjax-offline installs.
const folder = process.argv[2];
require(`${folder}/node-main.js`)
  .init({
    loader: {
      versionWarnings: false,
      paths: { mathjax: folder },
      load: ["input/tex-full", "output/svg", "adaptors/liteDOM", "a11y/assistive-mml"],
    },
    options: { enableAssistiveMml: true },
    tex: {
      packages: ["base", "ams", "boldsymbol", "newcommand"],
      formatError: (_, error) => {
        throw error;
      },
    },
    svg: { fontCache: "local" },
  })
  .then(async (MathJax) => {
    const lines = require("readline").createInterface({ input: process.stdin });
    for await (const line of lines) {
      const { tex, display } = JSON.parse(line);
      let answer;
      try {
        MathJax.texReset(); // a label or macro of one formula is no business of the next
        const node = await MathJax.tex2svgPromise(tex, { display, containerWidth: 1e6 });
        answer = { html: MathJax.startup.adaptor.outerHTML(node) };
      } catch (error) {
        answer = { error: error.message };
      }
      console.log(JSON.stringify(answer));
    }
  });
