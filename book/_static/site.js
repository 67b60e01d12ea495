// The content policy of the pages forbids handlers written into them; the build names them instead.
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-calls]");
  if (button) window[button.dataset.calls]();
});
// What scrolls sideways must take focus, or its end is out of reach of a keyboard.
function focusScrolling() {
  const boxes = ".themed, .bd-article table.table, .bd-article pre, .cell_output > .output, mjx-container[display]";
  // What is folded waits until it is opened: to measure it would lay it out now, each on its own.
  const shown = [...document.querySelectorAll(boxes)].filter((box) => !box.closest("details:not([open])"));
  // Measured before anything is changed: a change between two would lay out the page for each.
  const wide = new Set(shown.filter((box) => box.scrollWidth > box.clientWidth));
  for (const box of shown) {
    if (wide.has(box)) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("toggle", focusScrolling, true);
// The text's own width: it changes for a while after the window's, until the sidebars stand.
addEventListener("DOMContentLoaded", () => {
  let width;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return;
    width = contentRect.width;
    focusScrolling();
  }).observe(document.querySelector(".bd-article") ?? document.body);
});
// A link into an aside opens it; on paper all of them are open (asides.py folds them).
function openAside() {
  if (location.hash === "") return; // Firefox warns of an element without a name
  const at = document.getElementById(location.hash.slice(1));
  const aside = at?.closest("section.aside")?.querySelector(":scope > details");
  if (!aside || aside.open) return;
  aside.open = true;
  at.scrollIntoView();
}
addEventListener("DOMContentLoaded", openAside);
addEventListener("hashchange", openAside);
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("section.aside > details:not([open])")];
  for (const aside of folded) aside.open = true;
});
addEventListener("afterprint", () => { for (const aside of folded) aside.open = false; });
// Paper is light, whatever the screen is.
let onScreen;
addEventListener("beforeprint", () => {
  onScreen = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => { document.documentElement.dataset.theme = onScreen; });
