// Runs the anywidgets of a static page, where there is no kernel and no widget manager.
// myst-nb writes two kinds of JSON into the page: the state of all models, and a view where a
// widget stood in an output. Each view's `_esm` is an ES module with a `render({model, el})`; this
// script gives it a model made from the JSON. A setting that differs from the page's own stands in
// the URL fragment as `#name.trait=value&…`, so prose and people can link to what they see.
(() => {
  const scripts = (kind) =>
    document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${kind}+json"]`);
  const saved = {};
  const running = new Set(); // models that have read the fragment, and from then on write it
  let fragment = location.hash; // as it was last read or written
  addEventListener("hashchange", () => { fragment = location.hash; });

  class Model extends EventTarget {
    #state;
    #initial;
    #resting = 0;
    on = this.addEventListener;
    off = this.removeEventListener;
    constructor(state) {
      super();
      this.#state = state;
      this.#initial = { ...state };
    }
    get(name) {
      return this.#state[name];
    }
    set(name, value) {
      if (same(value, this.#state[name])) return;
      this.#state[name] = value;
      this.dispatchEvent(new Event(`change:${name}`));
    }
    /** Write the setting into the URL, once it rests: browsers refuse a hundred changes in a row. */
    save_changes() {
      clearTimeout(this.#resting);
      this.#resting = setTimeout(() => this.#write(), 250);
    }
    #write() {
      if (location.hash !== fragment) return; // a link was followed just now, and is about to be read
      const known = [...running].map((model) => model.get("name"));
      const others = parts().filter(({ widget }) => !known.includes(widget));
      const all = [...others, ...[...running].flatMap((model) => model.changes())];
      const hash = all.map(({ widget, trait, value }) =>
        `${widget}.${trait}=${encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value))}`);
      history.replaceState(null, "", hash.length ? `#${hash.join("&")}` : location.pathname + location.search);
      fragment = location.hash;
    }
    /** What differs from the page's own setting. */
    changes() {
      return Object.keys(this.#state)
        .filter((trait) => !same(this.#state[trait], this.#initial[trait]))
        .map((trait) => ({ widget: this.get("name"), trait, value: this.#state[trait] }));
    }
    /** The page's own setting but for what is asked for, where it is valid; returns what is not. */
    restore(asked, valid) {
      const settings = (parts) => Object.fromEntries(parts.map(({ trait, value }) => [trait, value]));
      const fit = asked.filter(({ trait, value }) =>
        trait in this.#initial && valid(trait, value, this.#initial, settings(asked)));
      for (const [trait, value] of Object.entries({ ...this.#initial, ...settings(fit) })) this.set(trait, value);
      return asked.filter((part) => !fit.includes(part));
    }
  }
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  /** The fragment's settings; an ordinary anchor has none. */
  function parts() {
    return location.hash.slice(1).split("&").flatMap((part) => {
      const match = /^([\w-]+)\.(\w+)=(.*)$/.exec(part);
      if (!match) return [];
      const text = safely(decodeURIComponent, match[3]);
      return [{ widget: match[1], trait: match[2], text, value: safely(JSON.parse, text) }];
    });
  }
  function safely(read, text) {
    try {
      return read(text);
    } catch {
      return text;
    }
  }

  const shortened = (text) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

  // A file that several widgets import came with the first of them; from then on it has a number.
  const files = [];
  const whole = (parts) => [parts].flat().map((part) =>
    (typeof part === "number" ? files[part] : files[files.push(part) - 1])).join("\n");

  const models = new Map();
  const modules = new Map();
  function load(source) {
    if (!modules.has(source)) {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(url).then((module) => module.default));
    }
    return modules.get(source);
  }

  async function show(script) {
    const { model_id: id } = JSON.parse(script.textContent);
    const { _esm: source, ...state } = saved[id].state;
    if (!models.has(id)) models.set(id, new Model(state));
    const model = models.get(id);
    const widget = await load(source);
    const el = document.createElement("div");
    const problem = Object.assign(document.createElement("p"), { className: "hydra-problem", role: "alert" });
    const restore = () => {
      const asked = parts();
      if (!asked.length && location.hash) return; // an ordinary anchor changes nothing
      const own = asked.filter((part) => part.widget === state.name);
      problem.textContent = model.restore(own, widget.valid).map(({ trait, text }) =>
        `The link asks for ${trait} = ${shortened(text)}, which this widget cannot show.`).join(" ");
      // Of one that is higher than the window the controls, at its top, are what was set.
      if (own.length) el.scrollIntoView({ block: el.offsetHeight > innerHeight ? "start" : "nearest" });
    };
    const still = script.nextElementSibling; // what the build drew keeps the room until now
    if (still?.matches(".still")) still.replaceWith(el);
    else script.after(el);
    try {
      await widget.render({ model, el });
    } catch (error) {
      if (still?.matches(".still")) el.replaceWith(still);
      throw error;
    }
    el.append(problem);
    restore();
    running.add(model);
    el.dataset.ready = state.name;
    addEventListener("hashchange", restore);
  }

  /** A widget that cannot run leaves its picture, and says why. */
  function failed(script, error) {
    const said = document.createElement("p");
    Object.assign(said, { className: "hydra-problem", role: "alert" });
    const still = script.nextElementSibling;
    said.textContent = `This widget does not run here: ${error.message}.`
      + (still?.matches(".still") ? " Above is a picture of it." : "");
    (still?.matches(".still") ? still : script).after(said);
  }

  // Each widget starts as soon as the parser is past it: the end of the page waits for scripts that
  // no widget needs, the largest of them for icons and mathematics.
  const shown = new Set();
  const read = new Set();
  const FOLLOWS = Node.DOCUMENT_POSITION_FOLLOWING;
  // A script that the parser is still in may have come by half, and so may a picture beside it.
  const parsed = (script) => document.readyState !== "loading" || script.parentNode.nextSibling;
  function sweep() {
    const first = document.querySelector('script[type="application/vnd.hydra.module+json"]');
    if (first && parsed(first) && !read.has(first)) {
      read.add(first);
      load(whole(JSON.parse(first.textContent))).catch(() => {}); // said where the widget stands
    }
    for (const script of scripts("view")) {
      if (!parsed(script) || shown.has(script)) continue;
      shown.add(script);
      // A state stands before its view; the next widget's may have come by half.
      for (const state of scripts("state")) {
        if (read.has(state) || !(state.compareDocumentPosition(script) & FOLLOWS)) continue;
        read.add(state);
        for (const [id, model] of Object.entries(JSON.parse(state.textContent).state)) {
          saved[id] = model;
          if (model.state._esm) model.state._esm = whole(model.state._esm);
        }
      }
      show(script).catch((error) => failed(script, error));
    }
  }
  const parsing = new MutationObserver(sweep);
  parsing.observe(document, { childList: true, subtree: true });
  addEventListener("DOMContentLoaded", () => {
    parsing.disconnect();
    sweep();
  });
})();
