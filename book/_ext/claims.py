"""The tables of the claims page, made from ``claims.yml``.

``{claims} H W B`` in a page stands for a table of the claims whose ids begin with these letters.
"""

import re
from pathlib import Path

import yaml
from sphinx.util.docutils import SphinxDirective

FILE = Path(__file__).parents[1] / "claims.yml"
PROVED = ("thm-", "prop-", "lem-", "cor-", "def-")  # labels of proofs; all others are headings


def load(path: Path = FILE) -> dict[str, dict]:
    """The claims by their ids, in the order of the file."""
    claims = yaml.safe_load(path.read_text("utf-8"))
    found = {claim["id"]: claim for claim in claims}
    if len(found) < len(claims):
        raise ValueError(f"{path.name} has an id twice")
    return found


def row(claim: dict) -> str:
    """One line of the Markdown table."""
    sentence, verdict = claim.get("sentence", ""), claim["verdict"]
    goes_on = re.match("[a-z,:;]", sentence)
    verdict = f"**{verdict}**" if goes_on else f"**{verdict}.**"
    space = "" if re.match("[,:;]", sentence) else " "
    links = ", ".join(
        f"{{prf:ref}}`{label}`" if label.startswith(PROVED) else f"{{ref}}`{label}`"
        for label in claim["evidence"]
    )
    told = f"{verdict}{space}{sentence}".strip()
    return f"| {claim['id']} | {claim['claim']} | {told} {links} |"


class Claims(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        self.env.note_dependency(str(FILE))
        letters = tuple(self.arguments[0].split())
        rows = [row(claim) for name, claim in load().items() if name.startswith(letters)]
        if not rows:
            raise self.error(f"no claim begins with {' or '.join(letters)}")
        head = ["| | the claim | verdict, and where it is shown |", "|---|---|---|"]
        parsed = self.parse_text_to_nodes("\n".join(head + rows))
        parsed[0]["classes"].append("stacked")
        return parsed


def setup(app):
    app.add_directive("claims", Claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
