# @title Run this first: it installs hydra_lib where it is missing
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("hydra_lib") is None:
    wanted = "hydra_lib @ git+ADDRESS"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", wanted]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
        raise ModuleNotFoundError(
            f"pip could not install {wanted!r}: see what it said above. It needs"
            " the Internet (on Kaggle: Settings, Internet) and git. With a copy"
            " of the book at hand, run 'pip install .' in its folder instead."
        )
