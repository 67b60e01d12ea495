"""What Lighthouse says of each chapter, met by a phone: its four scores, and why one is not 100.

Run after ``make book``, with ``npx`` at hand: ``python -m tools.lighthouse``, of all chapters or of
those named. Stores nothing: the score of performance follows the machine's load, the others do not.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.page import SITE, serve

LIGHTHOUSE = "lighthouse@12.8.2"
FLAGS = "--headless=new --no-sandbox --ignore-certificate-errors --disable-gpu"
SHOWN = ("largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")


def report(url: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"]
        command += [f"--output-path={path}", f"--chrome-flags={FLAGS}"]
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        found = {**os.environ, "CHROME_PATH": chromium}
        subprocess.run(command, check=True, env=found, capture_output=True)
        return json.loads(path.read_text("utf-8"))


def main(names: list[str]) -> None:
    with serve() as address:
        for name in names or sorted(p.stem for p in SITE.glob("book/[0-9][0-9]_*.html")):
            found = report(f"{address}/book/{name}.html")
            scores = found["categories"].items()
            audits = found["audits"]
            print(
                f"{name:<18}",
                *(f"{kind} {100 * (category['score'] or 0):.0f}" for kind, category in scores),
                *(f"{kind} {audits[kind]['displayValue']}" for kind in SHOWN),
                sep="  ",
                flush=True,
            )
            for kind, category in scores:
                failed = [audits[one["id"]] for one in category["auditRefs"] if one["weight"]]
                for audit in failed:
                    if kind != "performance" and audit["score"] not in (1, None):
                        print(f"    {kind}: {audit['title']}")


if __name__ == "__main__":
    main(sys.argv[1:])
