"""What Lighthouse says of each chapter, met by a phone: its four scores, and why one is not 100.

Run after ``make book``, with ``npx`` and Chromium at hand: ``python -m tools.lighthouse``, of all
chapters or of those named. Stores nothing: the score of performance follows the machine's load.
"""

import json
import shutil
import subprocess
import sys

from benchmarks.page import SITE, serve

LIGHTHOUSE = "lighthouse@12.8.2"
FLAGS = "--headless=new --no-sandbox --ignore-certificate-errors --disable-gpu"
SHOWN = ("largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")


def report(url: str) -> dict:
    command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"]
    done = subprocess.run(
        [*command, f"--chrome-flags={FLAGS}"], stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(done.stdout)


def lines(found: dict) -> list[str]:
    """The scores and times on one line, and below it each audit that took points from a score."""
    audits, scores = found["audits"], found["categories"]
    first = [f"{kind} {100 * (one['score'] or 0):.0f}" for kind, one in scores.items()]
    first += [f"{kind} {audits[kind]['displayValue']}" for kind in SHOWN]
    rest = [
        f"    {kind}: {audits[part['id']]['title']}"
        for kind, one in scores.items()
        for part in one["auditRefs"]
        if kind != "performance" and part["weight"] and audits[part["id"]]["score"] not in (1, None)
    ]
    return ["  ".join(first), *rest]


def main(names: list[str]) -> None:
    if not shutil.which("npx"):
        sys.exit("Lighthouse comes by npx, which is not on this machine: install Node")
    with serve() as address:
        for name in names or sorted(p.stem for p in SITE.glob("book/[0-9][0-9]_*.html")):
            found = lines(report(f"{address}/book/{name}.html"))
            print(f"{name:<18}", *found, sep="\n  ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
