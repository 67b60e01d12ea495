"""What would fail for a reader while an address made from ``_config.yml`` cannot be reached."""

import os
import subprocess
import sys
import urllib.request

from tools.export import ADDRESS, BRANCH, SITE

ANSWER = 30  # seconds to wait for


def no_branch(repository: str, branch: str) -> str:
    """Why git finds no such branch there; empty if it does."""
    try:
        done = subprocess.run(
            ["git", "ls-remote", "--exit-code", repository, f"refs/heads/{branch}"],
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},  # no address must ask for a password
            capture_output=True,
            text=True,
            timeout=ANSWER,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {ANSWER} s"
    return done.stderr.strip() or "there is no such branch" if done.returncode else ""


def no_page(address: str) -> str:
    """Why nothing answers there; empty if something does."""
    try:
        urllib.request.urlopen(address, timeout=ANSWER).close()
    except OSError as error:
        return str(error)
    return ""


def report() -> list[str]:
    """A line for each thing that would fail."""
    notebook = f"{ADDRESS}/blob/{BRANCH}/notebooks/01_aggregation.ipynb"
    depends = {
        f"branch {BRANCH} of {ADDRESS}": (
            no_branch(ADDRESS, BRANCH),
            "the first cell of every notebook cannot install hydra_lib; the buttons"
            " 'Repository', 'Suggest edit' and 'Open issue' of every page lead nowhere",
        ),
        notebook: (no_page(notebook), "the rocket of every chapter opens nothing in Colab"),
        SITE: (no_page(SITE), "the links of every notebook to the published page lead nowhere"),
    }
    return [f"{what}: {fails}.\n  ({why})" for what, (why, fails) in depends.items() if why]


def main() -> None:
    if lines := report():
        print("Not ready to publish. repository.url in _config.yml may still be a placeholder:")
        sys.exit("\n".join(lines))
    print(f"{ADDRESS} and {SITE} can be reached.")


if __name__ == "__main__":
    main()
