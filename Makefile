# One list of commands for people and for continuous integration.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
HOME_DIR ?= runs

.PHONY: demo test checks lint types mypy pyright layers browser unit wheel bench docs clean

demo: $(STAMP)
	$(BIN)/equipoise demo --home $(HOME_DIR)

test: checks unit

# All that is read and not run; the two type checkers at once.
checks: $(STAMP)
	$(MAKE) -j 2 --output-sync=target lint types layers

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: mypy pyright

mypy: $(STAMP)
	$(BIN)/mypy

pyright: $(STAMP)
	$(BIN)/pyright

layers: $(STAMP)
	$(BIN)/lint-imports --no-cache

# Tests open the report and the MLflow pages in a real browser.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || test -n "$$EQUIPOISE_NO_BROWSER" || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || { \
	  echo "expected Chromium on the PATH for the browser tests: install it, or set EQUIPOISE_NO_BROWSER=1" >&2; exit 1; }

# Tests that share what takes long to make are of one group, and each group goes to one process.
unit: $(STAMP) browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

# The quick ones of these tests against what is shipped: the wheel, in an environment of its own, with the sources out of
# sight. What trains or runs suites would only find again what it found in the tree.
# The environment borrows the dependencies through a .pth file, which leaves the editable install behind.
wheel: $(STAMP)
	rm -rf dist build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m venv --without-pip build/venv
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > build/dependencies.pth
	mv build/dependencies.pth "$$(build/venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")"
	$(BIN)/python -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check --no-deps dist/*.whl
	cp -r tests build/tests && cp pyproject.toml build/
	cd build && OMP_NUM_THREADS=1 venv/bin/python -m pytest -n 2 --dist loadgroup -m "not tree and not slow"

bench: $(STAMP)
	for script in benchmarks/*.py; do OMP_NUM_THREADS=1 $(BIN)/python $$script || exit 1; done

docs: $(STAMP)
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) build dist
