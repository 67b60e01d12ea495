"""What a page costs its reader: bytes, requests, time until the widget works, time per movement.

Serves the built site with gzip and opens every chapter in Chromium, once as the machine is and once
throttled like a phone: 9 Mbit/s, 170 ms round trips, a quarter of the processor. Run after
``make book``; writes ``hydra_lib/records/page.json``.
"""

import functools
import gzip
import http.server
import shutil
import statistics
import threading
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import sync_playwright

from hydra_lib.records import FOLDER, write
from hydra_lib.timing.environment import environment_of

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
LOADS, MOVES = 5, 60
THROTTLE = {"bit_per_s": 9_000_000, "latency": 0.17, "cpu_divisor": 4}


class Gzip(http.server.SimpleHTTPRequestHandler):
    """A static server that compresses text, as every host of static pages does."""

    protocol_version = "HTTP/1.1"
    packed: dict[Path, bytes] = {}  # noqa: RUF012  shared by all requests on purpose

    def log_message(self, *args):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        text = path.suffix in {".html", ".js", ".css", ".svg", ".json", ".txt"}
        if path not in self.packed:
            raw = path.read_bytes()
            self.packed[path] = gzip.compress(raw) if text else raw
        body = self.packed[path]
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(body)))
        if text:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


# From an input event to the end of the frame that shows its effect: widgets draw in an animation
# frame they ask for at the event, so the timer set in our own, asked for later, runs after it.
MOVE = """async (moves) => {
    const slider = document.querySelector("[data-ready] input[type=range]");
    const button = document.querySelector("[data-ready] button");
    const choice = [...document.querySelectorAll("[data-ready] select")]
        .find((one) => one.options.length > 1);
    const act = (i) => {
        if (!slider && button) return button.click();
        if (!slider) {
            choice.selectedIndex = i % choice.options.length;
            choice.dispatchEvent(new Event("change", {bubbles: true}));
            return;
        }
        slider.value = Number(slider.min) + (slider.max - slider.min) * (i % 20) / 19;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    };
    const times = [];
    for (let i = 0; i < moves; i++) {
        const start = performance.now();
        act(i);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - start);
    }
    return times;
}"""


def load(browser, url: str, throttled: bool) -> dict:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    if throttled:
        rate = THROTTLE["bit_per_s"] / 8
        conditions = {"offline": False, "latency": 1e3 * THROTTLE["latency"]}
        conditions |= {"downloadThroughput": rate, "uploadThroughput": rate}
        session.send("Network.emulateNetworkConditions", conditions)
        session.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE["cpu_divisor"]})
    page.add_init_script(
        """new MutationObserver((_, self) => {
            if (document.querySelector("[data-ready]")) {
                window.firstWidget = performance.now();
                self.disconnect();
            }
        }).observe(document, {subtree: true, childList: true, attributeFilter: ["data-ready"]});"""
    )
    page.goto(url, wait_until="load", timeout=120_000)
    page.wait_for_function("window.firstWidget", timeout=120_000)
    page.wait_for_load_state("networkidle")
    cost = {"bytes": sum(sizes), "requests": len(sizes)}
    cost["ready_ms"] = page.evaluate("window.firstWidget")
    cost["moves_ms"] = page.evaluate(MOVE, MOVES)
    context.close()
    return cost


def summary(group: str, page: str, loads: list[dict]) -> dict:
    """A row: ``ready`` is when the first widget works, ``frame`` from an input to its frame."""
    moves = sorted(t / 1e3 for one in loads for t in one["moves_ms"])
    return {
        "group": group,
        "page": page,
        "bytes": statistics.median(one["bytes"] for one in loads),
        "requests": statistics.median(one["requests"] for one in loads),
        "ready": statistics.median(one["ready_ms"] for one in loads) / 1e3,
        "frame_p50": statistics.median(moves),
        "frame_p95": moves[int(0.95 * len(moves))],
    }


def main() -> None:
    handler = functools.partial(Gzip, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    record = {
        "what": "Cost of a chapter's page to its reader; medians of loads with an empty cache",
        "environment": environment_of(),
        "settings": {"loads": LOADS, "moves_per_load": MOVES, "throttle": THROTTLE},
        "rows": [],
    }
    versions = record["environment"]["versions"]
    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        versions |= {"chromium": browser.version, "jupyter-book": version("jupyter-book")}
        for chapter in sorted(SITE.glob("book/[0-9][0-9]_*.html")):
            url = f"http://127.0.0.1:{server.server_port}/book/{chapter.name}"
            for group, throttled in (("as it is", False), ("throttled", True)):
                loads = [load(browser, url, throttled) for _ in range(LOADS)]
                record["rows"].append(summary(group, chapter.stem, loads))
                print(record["rows"][-1])
        browser.close()
    write(record, FOLDER / "page.json")


if __name__ == "__main__":
    main()
