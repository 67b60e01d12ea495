// The forms in which a page asks what a notebook asks in a cell. A solution stays shut until an
// answer to its exercise was judged: predict, commit, then see.
for (const form of document.querySelectorAll("form.answer")) {
  const facts = JSON.parse(form.querySelector("script").textContent);
  const inputs = [...form.querySelectorAll("input")];
  const exercise = form.closest(".exercise").id;
  const solution = document.querySelector(`.solution > .admonition-title a[href="#${exercise}"]`).closest(".solution");

  function verdict() {
    if (!inputs.some((input) => input.checked || (input.type === "text" && input.value.trim())))
      return { right: null, says: "No answer yet." };
    try {
      return facts.options
        ? answers.judged(facts, inputs.filter((input) => input.checked).map((input) => Number(input.value)))
        : answers.answered(facts, inputs.map((input) => input.value));
    } catch (problem) {
      return { right: null, says: problem.message };
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { right, says } = verdict();
    form.querySelector("[role=status]").textContent = `${right === null ? "·" : right ? "✓" : "✗"} ${says}`;
    if (right !== null) solution.inert = false;
  });
  solution.inert = true;
  form.querySelector("button").disabled = false;
}
