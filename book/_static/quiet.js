// The theme and its toggle buttons announce themselves on every page; the console is for problems.
const report = console.log;
console.log = (...words) => {
  if (!/^\[(PST|togglebutton)\]/.test(words[0])) report(...words);
};
// The theme settles light or dark when its script runs; until then a page would flash and move.
{
  const page = document.documentElement.dataset;
  if (page.mode === "auto")
    page.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
