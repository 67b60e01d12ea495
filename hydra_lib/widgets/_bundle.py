"""One ES module out of a widget's file and the shared files it imports.

The pure modules must be importable on their own (tests run them, chapters show them), while a
widget's ``_esm`` must be a single module, since it is loaded from a blob that has no neighbours.
So the imports stay real in the files, and are written out here, each file once. A kernel in WGSL is
imported by name and becomes a text: ``import name from "./kernel.wgsl"``.
"""

import json
import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"
SEAM = "\n/* the next file */\n"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', re.MULTILINE)
_DOCUMENTED = re.compile(r"^/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)
_KERNEL = re.compile(r'^import (\w+) from "\./(\w+\.wgsl)";$', re.MULTILINE)


def bundle(name: str) -> str:
    """The text of ``static/<name>`` with every ``import … from "./…"`` replaced by that file.

    All files share one scope afterwards, so two of them that declare the same name are a syntax
    error in the browser. SEAM stands between them, for who would send a file only once. What the
    files say of their functions is for who reads the files, and stays there: an eighth of the
    letters. Raises FileNotFoundError for an import of a missing file.
    """
    texts: dict[str, str] = {}

    def collect(file: str) -> None:
        text = (STATIC / file).read_text(encoding="utf-8")
        for needed in _IMPORT.findall(text):
            if needed not in texts:
                collect(needed)
        for constant, kernel in _KERNEL.findall(text):
            source = (STATIC / kernel).read_text(encoding="utf-8")
            texts[constant] = f"const {constant} = {json.dumps(source, ensure_ascii=False)};"
        text = _DOCUMENTED.sub("", _KERNEL.sub("", _IMPORT.sub("", text)))
        # Only the widget itself exports: the front end looks for its default export.
        texts[file] = text if file == name else re.sub(r"^export ", "", text, flags=re.MULTILINE)

    collect(name)
    return SEAM.join(texts.values())
