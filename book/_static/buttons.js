// The content policy of the pages forbids handlers written into them; the build names them instead.
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-calls]");
  if (button) window[button.dataset.calls]();
});
