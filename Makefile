PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
LAB := .venv/.lab
PORT ?= 8000
PLACE ?= colab

# Some machines forbid it: then each process and each kernel compiles the library and its tests anew.
export PYTHONDONTWRITEBYTECODE =

# One thread a process: two of them share two cores better than two that each want both. At most
# eight processes, since each takes a gigabyte with its browser.
TEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --maxprocesses 8 -rsfE -p no:cacheprovider

# What make quick does by itself: leave out what takes half a second, draw few examples of a property.
PLAIN = not browser and not slow and not axe and not hosts
HURRIED = --hypothesis-profile=few -m "$(PLAIN) and not long"

.PHONY: book quick test serve lab sync publish-check elsewhere hosts links bench mutants clean help

help:
	@echo "make book    build the book into _build/html        make serve   and show it"
	@echo "make quick   lint, types, the quicker tests         make test    the book and its tests"
	@echo "make lab     the notebooks in JupyterLab            make sync    derive them from book/*.md"
	@echo "make elsewhere PLACE=colab, or oldest               the notebooks with other versions"
	@echo "make hosts   the book in Firefox and WebKit, its widgets in JupyterLab"
	@echo "make bench · make mutants · make links · make publish-check · make clean"

$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version)"; exit 1; }
	@$(PYTHON) -m venv .venv \
	  || { echo "No virtual environment could be made; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Sphinx repeats a warning only when it reads the page again: after a failure it must.
book: $(INSTALLED)
	@$(BIN)/jupyter-book build . -W -n --keep-going \
	  || { rm -rf _build/.doctrees; echo "The build failed: see the warnings above."; exit 1; }
	@echo "Open _build/html/index.html, or type: make serve"

quick: $(INSTALLED)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy hydra_lib
	$(TEST) -n logical --dist worksteal -m "$(PLAIN)" $(HURRIED) tests hydra_lib

test: HURRIED =
# A browser also waits, for the next frame: a process more than there are cores is a sixth faster.
test: quick book
	$(TEST) -n $$(($$($(BIN)/python -c 'import os; print(os.cpu_count())') + 1)) \
	  --dist loadfile -m "(browser or slow) and not axe" --nbval-lax tests notebooks

serve: book
	@echo "http://localhost:$(PORT)/ (stop with Ctrl-C)"
	@$(BIN)/python -m http.server --directory _build/html --bind localhost $(PORT)

# JupyterLab is no part of the book: whoever asks for it gets it, and nothing pinned changes. The
# checker of addresses that it brings goes again: every process that reads a notebook, the tests'
# too, would compile its grammars, for seconds, and JupyterLab does without.
$(LAB): $(INSTALLED)
	$(BIN)/pip install --quiet --constraint requirements.txt jupyterlab==4.6.6
	$(BIN)/pip uninstall --quiet --yes rfc3987-syntax
	@touch $@

lab: $(LAB)
	$(BIN)/jupyter lab notebooks

sync: $(INSTALLED)
	$(BIN)/python -m tools.sync

# Drivers of two more browsers, which are no part of the book either. On Debian the browsers are
# firefox-esr, webkit2gtk-driver and, where there is no display, xvfb.
hosts: book $(LAB)
	$(BIN)/pip install --quiet --constraint requirements.txt \
	  marionette-driver==3.7.1 selenium==4.51.0
	$(if $(DISPLAY)$(WAYLAND_DISPLAY),,xvfb-run --auto-servernum) \
	  $(BIN)/python -m pytest -m hosts tests

# Asks other servers, so no part of the tests.
links: $(INSTALLED)
	$(BIN)/jupyter-book build . --builder linkcheck

# Colab's Python is 3.13, the oldest 3.10: PYTHON=python3.13. It installs a second torch.
elsewhere:
	$(PYTHON) -m tools.imitate tools/$(PLACE).txt

publish-check: $(INSTALLED)
	$(BIN)/python -m tools.publish_check

RECORDED = attention gpu heads ladder page parallel strassen

# One thread for numpy's BLAS too, which reads its number of threads only when it is loaded.
bench: book
	@for script in $(RECORDED:%=benchmarks/%.py); do \
	  echo "== $$script"; \
	  if [ $$script = benchmarks/gpu.py ] && ! $(BIN)/python -c \
	    'import sys, torch; sys.exit(not torch.cuda.is_available())'; \
	  then echo "skipped: torch sees no CUDA device"; continue; fi; \
	  OMP_NUM_THREADS=1 $(BIN)/python $$script || exit 1; \
	done

mutants: $(INSTALLED)
	$(BIN)/python tools/mutants.py --sample 40

clean:
	rm -rf _build .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
