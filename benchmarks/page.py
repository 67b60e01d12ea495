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
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "book" / "_ext"))
import chromium
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config
from playwright.sync_api import sync_playwright

from hydra_lib.records import FOLDER, write
from hydra_lib.timing.environment import environment_of

SITE = Path(__file__).parents[1] / "_build" / "html"
LOADS = 3
# Three seconds of a hand: of one second's frames a collection of garbage delays a twentieth. A
# processor four times slower needs as long for a third of the movements.
MOVES = {False: 180, True: 60}
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


# Two times of a movement, in milliseconds, the mouse on what is moved. What the page works for it:
# its handler, then a frame, from the first callback until that one's timer runs, once all is laid
# out and painted. And when that is done, after the display's tick: there the page may have waited
# for the pixels of the frame before, which a machine without a GPU computes beside it.
CONTROL = """
    const widget = document.querySelectorAll("[data-ready]")[which];
    const free = (kind) => [...widget.querySelectorAll(kind)]
        .filter((one) => !one.disabled && one.checkVisibility());
    const sliders = free("input[type=range]"), radios = free("input[type=radio]");
    const buttons = free("button"), pressed = radios.length ? radios : buttons;
    const choice = free("select").find((one) => one.options.length > 1);
    const control = sliders[0] ?? radios[0] ?? choice ?? buttons[0];
    control.scrollIntoView({block: "center", behavior: "instant"});
"""
PLACE = f"""(which) => {{{CONTROL}
    const {{x, y, width, height}} = control.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}}"""
MOVE = f"""async ([which, moves]) => {{{CONTROL}
    const kind = control === choice ? "change" : "input";
"""
MOVE += """
    const act = (i) => {
        if (control === choice) choice.selectedIndex = i % choice.options.length;
        else if (sliders.length) {
            const [low, high] = [control.min, control.max].map(Number);
            control.value = low + (high - low) * (i % 20) / 19;
        } else return pressed[i % pressed.length].click();
        control.dispatchEvent(new Event(kind, {bubbles: true}));
    };
    const times = [];
    for (let i = 0; i < moves; i++) {
        const painted = new Promise((done) => requestAnimationFrame((tick) => {
            const start = performance.now();
            setTimeout(() => done([performance.now() - start, performance.now() - tick]));
        }));
        const start = performance.now();
        act(i);
        const handled = performance.now() - start;
        const [drawn, late] = await painted;
        times.push([handled + drawn, late]);
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
    sizes, pending = [], set()

    def ended(event):
        pending.discard(event["requestId"])
        sizes.append(event.get("encodedDataLength", 0))

    session.on("Network.requestWillBeSent", lambda event: pending.add(event["requestId"]))
    session.on("Network.loadingFinished", ended)
    session.on("Network.loadingFailed", ended)
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
    page.wait_for_function("window.firstWidget", timeout=120_000)
    page.wait_for_timeout(500)  # by then all that is asked for has been; "networkidle" may never be
    while pending:
        page.wait_for_timeout(100)
    cost = {"bytes": sum(sizes), "requests": len(sizes), "shift": page.evaluate("window.shift")}
    cost["text_ms"] = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    cost["ready_ms"] = page.evaluate("window.firstWidget")
    context.close()
    return cost


def moves(browser, url: str, throttled: bool) -> dict[str, list[tuple[float, float]]]:
    """Both times of each movement, by the widget that it moves."""
    size = {"width": 360 if throttled else 1280, "height": 900}
    context = browser.new_context(viewport=size, ignore_https_errors=True)
    page = context.new_page()
    if throttled:
        rate = {"rate": THROTTLE["cpu_divisor"]}
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", rate)
    page.goto(url, wait_until="load", timeout=120_000)  # idle it may be before all is parsed
    ready = page.locator("[data-ready]")
    views = page.locator('script[type="application/vnd.jupyter.widget-view+json"]')
    ready.nth(views.count() - 1).wait_for(state="attached")
    page.wait_for_timeout(1000)  # a hand comes later than what a page does as soon as it is loaded
    names = ready.evaluate_all("all => all.map((e) => e.dataset.ready)")
    found = {}
    for which, name in enumerate(names):
        # Left in the corner, the mouse has the whole page searched for what it is over, each frame.
        page.mouse.move(*page.evaluate(PLACE, which))
        found[name] = page.evaluate(MOVE, [which, MOVES[throttled]])
    context.close()
    return found


def summary(group: str, page: str, loads: list[dict], moved: list[dict]) -> dict:
    """A row: ``text`` is when the page is painted, ``ready`` when its first widget works. Of the
    times of a movement ``work`` is that of the widget that works longest, the ``slowest``, and
    ``frame`` that of the one whose frames are done latest, the ``latest``."""

    def percentile(percent: int, which: int, name: str) -> float:
        return statistics.median(
            statistics.quantiles([pair[which] / 1e3 for pair in one[name]], n=100)[percent - 1]
            for one in moved
        )

    p50, p95 = (functools.partial(percentile, percent) for percent in (50, 95))
    slowest, latest = (max(moved[0], key=functools.partial(p95, which)) for which in (0, 1))
    return {
        "group": group,
        "page": page,
        "bytes": statistics.median(one["bytes"] for one in loads),
        "requests": statistics.median(one["requests"] for one in loads),
        "shift": max(one["shift"] for one in loads),
        "text": statistics.median(one["text_ms"] for one in loads) / 1e3,
        "ready": statistics.median(one["ready_ms"] for one in loads) / 1e3,
        "slowest": slowest,
        "work_p50": p50(0, slowest),
        "work_p95": p95(0, slowest),
        "latest": latest,
        "frame_p50": p50(1, latest),
        "frame_p95": p95(1, latest),
    }


def show(row: dict) -> str:
    cells = [f"{row['page']:18}{row['group']:10}", f"{row['bytes'] / 1e3:7.0f} kB"]
    cells += [f"{row['requests']:3.0f} requests", f"shift {row['shift']:.3f}"]
    cells += [f"text {row['text']:.2f} s", f"widget {row['ready']:.2f} s"]
    cells += [f"p95: work {1e3 * row['work_p95']:.1f} ms ({row['slowest']}),"]
    cells += [f"frame {1e3 * row['frame_p95']:.1f} ms ({row['latest']})"]
    return "  ".join(cells)


def main(store: bool) -> None:
    chapters = sorted(SITE.glob("book/[0-9][0-9]_*.html"))
    if not chapters or chromium.find() is None:
        raise SystemExit("the book must be built (make book), and a Chromium be installed")
    record = {
        "what": "Cost of a chapter's page to its reader; medians of loads with an empty cache",
        "environment": environment_of(),
        "settings": {
            "loads": LOADS,
            "moves_per_load": {"as it is": MOVES[False], "throttled": MOVES[True]},
            "throttle": THROTTLE,
        },
        "rows": [],
    }
    versions = record["environment"]["versions"]
    with sync_playwright() as playwright, serve() as address:
        browser = chromium.launch(playwright)
        versions |= {"chromium": browser.version, "jupyter-book": version("jupyter-book")}
        pages = [(one, group) for one in chapters for group in ("as it is", "throttled")]
        loads, moved = ({page: [] for page in pages} for _ in range(2))
        # All pages in turn, again and again: a busy minute then costs each of them one load.
        for turn, (chapter, group) in itertools.product(range(LOADS), pages):
            about = browser, f"{address}/book/{chapter.name}", group == "throttled"
            loads[chapter, group].append(load(*about))
            moved[chapter, group].append(moves(*about))
            print(f"{turn + 1} of {LOADS}: {chapter.stem}, {group}", file=sys.stderr)
        browser.close()
    for chapter, group in pages:
        of_page = loads[chapter, group], moved[chapter, group]
        record["rows"].append(summary(group, chapter.stem, *of_page))
        print(show(record["rows"][-1]))
    if store:
        write(record, FOLDER / "page.json")


if __name__ == "__main__":
    main(store="--table" not in sys.argv[1:])
