/* The search: sections, not pages, ranked by the words that were asked (BM25), those of a title and
   of the index above those of the text, and after them the library's names. Sphinx's own search
   shows a page only if it has every word, and then its first lines. */
"use strict";

{
    const WORD = /[\p{L}\p{N}_]+/gu, SHOWN = 20, WINDOW = 240;
    const REPEATS = 1.2, LENGTH = 0.5; // BM25's k₁ and b: how soon a word said again adds little; how much a long section loses
    const UNASKED = new Set([...stopwords, ..."why how what which who when where do does did is are can could should would i my me we you your from vs use".split(" ")]);
    const stemmer = new Stemmer(), stems = new Map();
    const stem = (word) => stems.get(word) ?? stems.set(word, stemmer.stemWord(word)).get(word);
    const words = (text) => (text.toLowerCase().match(WORD) ?? []).filter((word) => !UNASKED.has(word)).map(stem);

    const counted = () => SECTIONS.map(([page, id, title, index, text, beside]) => {
        const counts = new Map();
        for (const [part, weight] of [[text, 1], [title, 5], [index, 10]])
            for (const word of words(part)) counts.set(word, (counts.get(word) ?? 0) + weight);
        return { page, id, title, text, beside, counts, length: [...counts.values()].reduce((a, b) => a + b, 1) };
    });
    let sections;

    function ranked(asked) {
        sections ??= counted();
        const mean = sections.reduce((sum, section) => sum + section.length, 0) / sections.length;
        const rarity = new Map(asked.map((word) => {
            const having = sections.filter((section) => section.counts.has(word)).length;
            return [word, Math.log(1 + (sections.length - having + 0.5) / (having + 0.5))];
        }));
        const found = [];
        for (const section of sections) {
            const has = asked.filter((word) => section.counts.has(word));
            const points = has.reduce((sum, word) => {
                const count = section.counts.get(word);
                return sum + rarity.get(word) * count * (1 + REPEATS)
                    / (count + REPEATS * (1 - LENGTH + LENGTH * section.length / mean));
            }, 0);
            const kind = section.page.startsWith("book/library") ? 0 : section.beside ? 0.5 : 1;
            if (points > 0) found.push({ ...section, kind, points: points * (kind || 1) * has.length / asked.length });
        }
        return found.sort((a, b) => (b.kind > 0) - (a.kind > 0) || b.points - a.points);
    }

    /** A paragraph of the text where most of the words that were asked stand together, these marked. */
    function excerpt(text, asked) {
        const hits = [...text.matchAll(WORD)].filter(([word]) => asked.includes(stem(word.toLowerCase())));
        const within = (from) => new Set(hits.filter(({ index }) => index >= from && index < from + WINDOW)
            .map(([word]) => stem(word.toLowerCase()))).size;
        const first = hits.reduce((best, { index }) => (within(index) > within(best) ? index : best), hits[0]?.index ?? 0);
        const start = first < WINDOW / 3 ? 0 : text.indexOf(" ", first - WINDOW / 3) + 1;
        const end = start + WINDOW < text.length ? text.lastIndexOf(" ", start + WINDOW) : text.length;
        const p = Object.assign(document.createElement("p"), { className: "context" });
        let at = start;
        p.append(start ? "… " : "");
        for (const { 0: word, index } of hits.filter(({ index }) => index >= start && index < end)) {
            p.append(text.slice(at, index), Object.assign(document.createElement("span"), { className: "highlighted", textContent: word }));
            at = index + word.length;
        }
        p.append(text.slice(at, end), end < text.length ? " …" : "");
        return p;
    }

    function show(href, title, after) {
        const item = Search.output.appendChild(document.createElement("li"));
        item.append(Object.assign(document.createElement("a"), { href, textContent: title }), after);
    }

    Search.query = (query) => {
        const asked = [...new Set(words(query))], found = ranked(asked), written = query.match(WORD) ?? [];
        const names = new Set(splitQuery(query.toLowerCase()));
        const objects = [...names].flatMap((name) => Search.performObjectSearch(name, names));
        const missing = asked.filter((word) => !sections.some((section) => section.counts.has(word)))
            .map((word) => written.find((one) => stem(one.toLowerCase()) === word));
        for (const { page, id, title, text } of found.slice(0, SHOWN))
            show(`${page}.html${id && `#${id}`}`, title, excerpt(text, asked));
        for (const [page, name, anchor, kind] of objects.sort((a, b) => b[4] - a[4]).slice(0, SHOWN))
            show(`${page}.html${anchor}`, name, ` (${kind})`);
        Search.stopPulse();
        Search.title.innerText = "Search Results";
        const count = found.length + objects.length;
        Search.status.innerText = (count ? `${count} ${count === 1 ? "place" : "places"} found.` : "Nothing was found.")
            + missing.map((word) => ` No section has “${word}”.`).join("");
    };
}
