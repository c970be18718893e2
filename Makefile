# `make quickstart` and `make test` come first. They need make and Python 3.11 to 3.13; everything else comes from the package
# registry: uv into .uv/, the locked packages into .venv/. `make UV=uv ...` uses a uv that is there already.

PYTHON ?= python3
JOBS ?= 2
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
UV ?= .uv/$(BIN)/uv
VENV := .venv/$(BIN)
SYNC = $(UV) sync --frozen --inexact --python $(PYTHON)
FORAGING := lbf:2s-8x8-2p-2f-coop

export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV

.PHONY: help quickstart test check format bench campaign docs develop clean
.DEFAULT_GOAL := help

help:
	@echo "make quickstart      install, train two foragers, draw the learning curve, write quickstart.gif"
	@echo "make test            all tests                         make test ARGS=tests/cli"
	@echo "make check           format, lint, types, who imports whom"
	@echo "make bench           measure speed                     make bench NAME=train"
	@echo "make campaign NAME   a long campaign, its counts as JSON in bench/"
	@echo "make docs            write what the code knows into the documentation, and build the site/"

.uv/$(BIN)/uv:
	@$(PYTHON) -c "import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else 'agonist needs Python 3.11 to 3.13, this is ' + sys.version.split()[0] + '; name another with: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv .uv
	.uv/$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

ifeq ($(UV),.uv/$(BIN)/uv)
UV_IS_THERE := .uv/$(BIN)/uv
endif

quickstart: $(UV_IS_THERE)
	$(SYNC) --extra stats
	$(VENV)/agonist train ppo $(FORAGING) --steps 400000 --seed 1
	$(VENV)/agonist watch latest --episodes 3 --out quickstart.gif
	@echo
	@echo "Open quickstart.gif. What to type next (after: source $(VENV)/activate):"
	@echo
	@echo "  agonist runs show latest                                all that is known of this run"
	@echo "  agonist train --resume latest --steps 1e6               go on with it"
	@echo "  agonist train mappo lbf:15x15-4p-3f --steps 2e6         something harder"
	@echo "  agonist train ppo $(FORAGING) lr=1e-3,2e-3 --seeds 3 --steps 2e5"
	@echo "  agonist runs compare                                    which rate is better, and how surely"
	@echo "  agonist envs     agonist algos     agonist train -h     what there is"

develop: $(UV_IS_THERE)
	@$(SYNC) --all-extras --group dev

test: develop
	@$(VENV)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

check: develop
	$(VENV)/ruff format --check
	$(VENV)/ruff check
	$(VENV)/mypy
	$(VENV)/lint-imports

format: develop
	$(VENV)/ruff check --fix
	$(VENV)/ruff format

bench: develop
	$(VENV)/agonist bench $(NAME)

# `make campaign kills`: the second word is the campaign's name
ifeq (campaign,$(firstword $(MAKECMDGOALS)))
CAMPAIGN := $(word 2,$(MAKECMDGOALS))
$(if $(CAMPAIGN),$(eval .PHONY: $(CAMPAIGN))$(eval $(CAMPAIGN):;@:))
endif
campaign: develop
	$(VENV)/agonist bench $(CAMPAIGN)

docs: develop
	$(VENV)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict
	@echo "Open site/index.html. All that it shows is run by: make test ARGS='tests/docs tests/examples'"

clean:
	rm -rf .uv .venv .pytest_cache .mypy_cache .ruff_cache site dist
