/* How Sphinx ranks what a search finds, but that chapters stand before the library's pages and
   those first that are called what was asked for; and which words of a page it shows. */
"use strict";

window.Scorer = {
    score([page, title, , , points]) {
        const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
        const named = title.split(" > ")[0].toLowerCase().includes(asked);
        return points + (named ? 100 : 0) + (page.startsWith("book/library/") ? 0 : 1000);
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};

/* Sentences, of the part that was found: neither code and what it prints nor the page's own frame. */
addEventListener("DOMContentLoaded", () => {
    Search.htmlToText = (html, anchor) => {
        const page = new DOMParser().parseFromString(html, "text/html");
        const found = anchor && page.getElementById(anchor.slice(1));
        const part = found || page.querySelector("article") || page.body;
        const others = ".headerlink, script, style, .cell, .still, .tex, annotation";
        part.querySelectorAll(others).forEach((one) => one.remove());
        return part.textContent;
    };
});
