// Runs the anywidgets of a static page, where there is no kernel and no widget manager.
// myst-nb writes two kinds of JSON into the page: the state of all models, and a view where a
// widget stood in an output. Each view's `_esm` is an ES module with a `render({model, el})`; this
// script gives it a model made from the JSON. A setting that differs from the page's own stands in
// the URL fragment as `#name.trait=value&…`, so prose and people can link to what they see.
(() => {
  const scripts = (kind) =>
    document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${kind}+json"]`);
  const saved = {};

  class Model {
    #state;
    #initial;
    #handlers = new Map();
    constructor(state) {
      this.#state = state;
      this.#initial = { ...state };
    }
    get(name) {
      return this.#state[name];
    }
    set(name, value) {
      if (same(value, this.#state[name])) return;
      this.#state[name] = value;
      for (const handler of this.#handlers.get(`change:${name}`) ?? []) handler();
    }
    on(event, handler) {
      if (!this.#handlers.has(event)) this.#handlers.set(event, new Set());
      this.#handlers.get(event).add(handler);
    }
    off(event, handler) {
      this.#handlers.get(event)?.delete(handler);
    }
    send() {} // nobody to send to
    save_changes() {
      const others = parts().filter(({ widget }) => widget !== this.get("name"));
      const mine = Object.keys(this.#state)
        .filter((trait) => !same(this.#state[trait], this.#initial[trait]))
        .map((trait) => ({ widget: this.get("name"), trait, value: this.#state[trait] }));
      const hash = [...others, ...mine].map(({ widget, trait, value }) =>
        `${widget}.${trait}=${encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value))}`);
      history.replaceState(null, "", hash.length ? `#${hash.join("&")}` : location.pathname + location.search);
    }
    /** Back to the page's own setting, then what the fragment asks for, if it is valid. */
    restore(valid) {
      const asked = parts().filter(({ widget }) => widget === this.get("name"));
      const fit = asked.filter(({ trait, value }) =>
        trait in this.#initial && valid(trait, value, this.#initial));
      const wanted = Object.fromEntries(fit.map(({ trait, value }) => [trait, value]));
      for (const trait of Object.keys(this.#initial)) {
        this.set(trait, trait in wanted ? wanted[trait] : this.#initial[trait]);
      }
      return { asked: asked.length > 0, refused: asked.filter((part) => !fit.includes(part)) };
    }
  }
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  /** The fragment's settings; an ordinary anchor has none. */
  function parts() {
    return location.hash.slice(1).split("&").flatMap((part) => {
      const match = /^([\w-]+)\.(\w+)=(.*)$/.exec(part);
      if (!match) return [];
      const text = safely(decodeURIComponent, match[3]);
      return [{ widget: match[1], trait: match[2], value: safely(JSON.parse, text) }];
    });
  }
  function safely(read, text) {
    try {
      return read(text);
    } catch {
      return text;
    }
  }

  const models = new Map();
  const modules = new Map();
  function load(source) {
    if (!modules.has(source)) {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(url).then((module) => module.default));
    }
    return modules.get(source);
  }

  const styles = new Set();
  async function show(script) {
    const { model_id: id } = JSON.parse(script.textContent);
    const { _esm: source, _css: style, ...state } = saved[id].state;
    if (!models.has(id)) models.set(id, new Model(state));
    const model = models.get(id);
    if (style && !styles.has(style)) {
      styles.add(style);
      document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
    }
    const widget = await load(source);
    const el = document.createElement("div");
    const problem = Object.assign(document.createElement("p"), { className: "hydra-problem", role: "alert" });
    const restore = () => {
      const { asked, refused } = model.restore(widget.valid);
      problem.textContent = refused.map(({ trait, value }) =>
        `The link asks for ${trait} = ${value}, which this widget cannot show.`).join(" ");
      if (asked) el.scrollIntoView({ block: "nearest" });
    };
    script.after(el);
    await widget.render({ model, el });
    el.append(problem);
    restore();
    el.dataset.ready = state.name;
    addEventListener("hashchange", restore);
  }

  addEventListener("DOMContentLoaded", () => {
    for (const script of scripts("state")) Object.assign(saved, JSON.parse(script.textContent).state);
    scripts("view").forEach(show);
  });
})();
