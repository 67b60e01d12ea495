"""What a page costs its reader: bytes, requests, time until the widget works, time per movement.

Serves the built site over HTTP/2 with gzip and opens every chapter in Chromium, once as the machine
is and once like a phone: 360 px, 9 Mbit/s, 170 ms round trips, a quarter of the processor. Run
after ``make book``; writes ``hydra_lib/records/page.json``, or with ``--table`` only prints.
"""

import asyncio
import contextlib
import functools
import gzip
import itertools
import mimetypes
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from playwright.sync_api import sync_playwright

from hydra_lib.records import FOLDER, write
from hydra_lib.timing.environment import environment_of

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
LOADS, MOVES = 3, 60
THROTTLE = {"bit_per_s": 9_000_000, "latency": 0.17, "cpu_divisor": 4}


@functools.cache
def site(scope_path: str) -> tuple[int, bytes, list]:
    """Status, body and headers of a path, text packed as every host of static pages does."""
    path = (SITE / scope_path.lstrip("/")).resolve()
    if not path.is_file() or SITE.resolve() not in path.parents:
        return 404, b"", []
    raw = path.read_bytes()
    headers = [(b"content-type", (mimetypes.guess_type(path)[0] or "text/plain").encode())]
    if path.suffix in {".html", ".js", ".css", ".svg", ".json", ".txt"}:
        return 200, gzip.compress(raw), [*headers, (b"content-encoding", b"gzip")]
    return 200, raw, headers


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    status, body, headers = site(scope["path"])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def serve():
    """The built site over HTTP/2, which browsers speak over TLS only."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
        command = [*command.split(), "-keyout", key, "-out", certificate]
        subprocess.run(command, check=True, capture_output=True)
        free.bind(("127.0.0.1", 0))
        config = Config()
        config.bind = [f"127.0.0.1:{free.getsockname()[1]}"]
        config.keyfile, config.certfile, config.loglevel = key, certificate, "ERROR"
        free.close()
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        task = hypercorn_serve(application, config, shutdown_trigger=stop.wait)
        thread = threading.Thread(target=loop.run_until_complete, args=(task,), daemon=True)
        thread.start()
        yield f"https://{config.bind[0]}"
        loop.call_soon_threadsafe(stop.set)
        thread.join()


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
    size = {"width": 360 if throttled else 1280, "height": 900}
    context = browser.new_context(viewport=size, ignore_https_errors=True)
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
        """window.shift = 0;
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) window.shift += entry.value;
        }).observe({type: "layout-shift", buffered: true});
        new MutationObserver((_, self) => {
            if (!document.querySelector("[data-ready]")) return;
            self.disconnect();
            requestAnimationFrame(() => setTimeout(() => {
                window.firstWidget = performance.now();
            }));
        }).observe(document, {subtree: true, childList: true, attributeFilter: ["data-ready"]});"""
    )
    page.goto(url, wait_until="load", timeout=120_000)
    alive = "widget-view" in page.content()
    if alive:
        page.wait_for_function("window.firstWidget", timeout=120_000)
    page.wait_for_load_state("networkidle")
    cost = {"bytes": sum(sizes), "requests": len(sizes), "shift": page.evaluate("window.shift")}
    cost["text_ms"] = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    if alive:
        cost["ready_ms"] = page.evaluate("window.firstWidget")
    context.close()
    return cost


def moves(browser, url: str, throttled: bool) -> list[float]:
    """Milliseconds from each movement to its frame; none where there is no widget."""
    size = {"width": 360 if throttled else 1280, "height": 900}
    context = browser.new_context(viewport=size, ignore_https_errors=True)
    page = context.new_page()
    if throttled:
        rate = {"rate": THROTTLE["cpu_divisor"]}
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", rate)
    page.goto(url, wait_until="networkidle", timeout=120_000)
    found = page.evaluate(MOVE, MOVES) if "widget-view" in page.content() else []
    context.close()
    return found


def empty_frame(browser) -> float:
    """Median seconds from frame to frame of a page on which nothing moves."""
    page = browser.new_page()
    frames = page.evaluate(
        """async () => {
            const times = [performance.now()];
            while (times.length < 100) {
                await new Promise((done) => requestAnimationFrame(done));
                times.push(performance.now());
            }
            return times;
        }"""
    )
    page.close()
    return statistics.median(b - a for a, b in itertools.pairwise(frames)) / 1e3


def summary(group: str, page: str, loads: list[dict], moved: list[float]) -> dict:
    """A row: ``text`` is when the page is painted, ``ready`` when its first widget works, ``frame``
    from an input to its frame. Both of these are missing where there is no widget."""
    row = {
        "group": group,
        "page": page,
        "bytes": statistics.median(one["bytes"] for one in loads),
        "requests": statistics.median(one["requests"] for one in loads),
        "shift": max(one["shift"] for one in loads),
        "text": statistics.median(one["text_ms"] for one in loads) / 1e3,
    }
    if "ready_ms" in loads[0]:
        frames = sorted(t / 1e3 for t in moved)
        row["ready"] = statistics.median(one["ready_ms"] for one in loads) / 1e3
        row["frame_p50"] = statistics.median(frames)
        row["frame_p95"] = frames[int(0.95 * len(frames))]
    return row


def show(row: dict) -> str:
    cells = [f"{row['page']:18}{row['group']:10}", f"{row['bytes'] / 1e3:7.0f} kB"]
    cells += [f"{row['requests']:3.0f} requests", f"shift {row['shift']:.3f}"]
    cells += [f"text {row['text']:.2f} s"]
    if "ready" in row:
        cells += [f"widget {row['ready']:.2f} s", f"frame p95 {1e3 * row['frame_p95']:.1f} ms"]
    return "  ".join(cells)


def main(store: bool) -> None:
    record = {
        "what": "Cost of a chapter's page to its reader; medians of loads with an empty cache",
        "environment": environment_of(),
        "settings": {"loads": LOADS, "moves_per_load": MOVES, "throttle": THROTTLE},
        "rows": [],
    }
    versions = record["environment"]["versions"]
    # The display's 60 frames a second would hide how long a frame takes. Without the last of these
    # flags a headless Chromium keeps to them all the same.
    uncapped = ["--no-sandbox", "--disable-gpu", "--disable-frame-rate-limit"]
    uncapped += ["--run-all-compositor-stages-before-draw"]
    with sync_playwright() as playwright, serve() as address:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        hurried = playwright.chromium.launch(executable_path=executable, args=uncapped)
        if (empty := empty_frame(hurried)) > 2e-3:
            raise SystemExit(f"an empty page takes {1e3 * empty:.1f} ms a frame: they are capped")
        versions |= {"chromium": browser.version, "jupyter-book": version("jupyter-book")}
        for chapter in sorted(SITE.glob("book/[0-9][0-9]_*.html")):
            url = f"{address}/book/{chapter.name}"
            for group, throttled in (("as it is", False), ("throttled", True)):
                loads = [load(browser, url, throttled) for _ in range(LOADS)]
                moved = [t for _ in range(LOADS) for t in moves(hurried, url, throttled)]
                record["rows"].append(summary(group, chapter.stem, loads, moved))
                print(show(record["rows"][-1]), flush=True)
        browser.close()
        hurried.close()
    if store:
        write(record, FOLDER / "page.json")


if __name__ == "__main__":
    main(store="--table" not in sys.argv[1:])
