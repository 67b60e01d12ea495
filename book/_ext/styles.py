"""One stylesheet for all pages: the theme's and the extensions', less what no page of ours uses."""

import base64
import functools
import html
import io
import logging
import re
from pathlib import Path

import tinycss2
from fontTools import subset

# Classes that a browser or a script sets on elements that are not in the written pages.
SAFE = {"show", "showing", "hiding", "fade", "hide", "scrolled", "collapsing", "disabled"}
SAFE |= {"sd-card-img-top", "only-light", "only-dark"}  # of pictures that are made last
IGNORED = re.compile(r":(not|is|where|has)\((?:[^()]|\([^()]*\))*\)")
NAME = re.compile(r"[.#]((?:[\w-]|\\.)+)")
WEBFONTS = Path("vendor/fontawesome/webfonts")
FONTS = (
    ("Font Awesome 6 Free", 900, "fa-solid-900.ttf"),
    ("Font Awesome 6 Brands", 400, "fa-brands-400.ttf"),
)


def words(pages: list[str], scripts: list[str]) -> set[str]:
    """Every class and id of the pages, and every word of the scripts, which may set it."""
    found = set(SAFE)
    for text in pages:
        for value in re.findall(r'\b(?:class|id)="([^"]*)"', text):
            found.update(html.unescape(value).split())
    for text in scripts:
        found.update(re.findall(r"[\w-]+", text))
    return found


def purge(css: str, used: set[str]) -> str:
    """The rules of ``css`` with a selector whose every class and id is used."""
    return "".join(kept(rule, used) for rule in parsed(css))


@functools.cache  # a widget's sheet stands in many pages
def parsed(css: str) -> list:
    return [read(rule) for rule in rules(css)]


def rules(css) -> list:
    return tinycss2.parse_rule_list(css, skip_comments=True, skip_whitespace=True)


def read(rule) -> str | tuple[str | dict[str, set[str]], str | list]:
    """What stays as it is; or a rule's selectors, with the classes and ids of each, and its body;
    or where the rules that it holds apply, and these."""
    if rule.type == "error":
        raise ValueError(f"a stylesheet cannot be read: {rule.message}")
    prelude = tinycss2.serialize(rule.prelude).strip()
    if rule.type == "qualified-rule":
        body = re.sub(r"\s+", " ", tinycss2.serialize(rule.content).strip())
        return {one: names(one) for one in selectors(prelude)}, body
    if rule.at_keyword in {"container", "media", "supports"}:
        return f"@{rule.at_keyword} {prelude}", [read(inner) for inner in rules(rule.content)]
    if rule.at_keyword == "font-face" and "Awesome" in tinycss2.serialize(rule.content):
        return ""  # `icons` writes them anew
    return rule.serialize()


def kept(rule, used: set[str]) -> str:
    if isinstance(rule, str):
        return rule
    head, inside = rule
    if isinstance(head, dict):
        head = ",".join(one for one, needed in head.items() if needed <= used)
    else:
        inside = "".join(kept(one, used) for one in inside)
    return f"{head}{{{inside}}}" if head and inside else ""


def selectors(prelude: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts = [[]]
    for token in tinycss2.parse_component_value_list(prelude):
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [re.sub(r"\s+", " ", tinycss2.serialize(part).strip()) for part in parts]


def names(selector: str) -> set[str]:
    found = NAME.findall(IGNORED.sub("", re.sub(r"\[[^\]]*\]", "", selector)))
    return {name.replace("\\", "") for name in found}


# Under Sphinx every step of the cutting would be told.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def icons(css: str, static: Path) -> str:
    """The theme's icon fonts, cut down to the characters that ``css`` shows."""
    used = {ord(one) for one in re.findall("[\ue000-\uf8ff]", css)}
    used |= {int(code, 16) for code in re.findall(r"\\(f[0-9a-f]{3})", css)}
    faces = ""
    for family, weight, name in FONTS:
        options = subset.Options(flavor="woff", layout_features=[], notdef_outline=True)
        font = subset.load_font(static / WEBFONTS / name, options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=used)
        cutter.subset(font)
        packed = io.BytesIO()
        font.flavor = "woff"
        font.save(packed)
        font.close()
        data = base64.b64encode(packed.getvalue()).decode()
        source = f"url(data:font/woff;base64,{data})"
        faces += f'@font-face{{font-family:"{family}";font-weight:{weight};src:{source}}}'
    return faces
