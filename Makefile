# Every target sets up what it needs in .venv; nothing else is required but Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
N      ?= 1000000
SEED   ?= 1
JOBS   ?= 2
ROUNDS ?= 500

.DEFAULT_GOAL := test

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 26

interpreters: $(VENV)/ready ## tests of the languages on the other Pythons of this machine
	.ci/interpreters

.PHONY: help demo test interpreters clients check fix bench sim soak gridengine-conformance gridengine-kills differential replay conformance fuzz docs site clean

$(VENV)/ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,lab,reference,site]'
	@touch $@

# The demonstration needs what users need, and none of the tools of the tests.
$(VENV)/usable: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

demo: $(VENV)/usable ## a pool on this machine, whose owner comes and goes, in a minute
	$(BIN)/python -m demo

test: $(VENV)/ready ## all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q

clients: $(VENV)/ready ## programs from PyPI that drive HTCondor or Grid Engine, against pools of ours
	ROOST_TEST_CLIENTS=1 $(BIN)/python -m pytest -q tests/clients

check: $(VENV)/ready ## style, types, import contracts
	$(BIN)/ruff check src tests bench demo website
	$(BIN)/ruff format --check src tests bench demo website
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fix: $(VENV)/ready ## correct style where that can be done automatically
	$(BIN)/ruff check --fix src tests bench demo website
	$(BIN)/ruff format src tests bench demo website

bench: $(VENV)/ready ## ratios within one run
	$(BIN)/python -m bench

# The default of N is a million; that many worlds would take all night.
sim: $(VENV)/ready ## simulate N=1000 worlds with faults, from SEED=1 on
	$(BIN)/python -m tests.faults --seed $(SEED) --count $(if $(filter file,$(origin N)),1000,$(N)) --processes $(JOBS)

soak: $(VENV)/ready ## break a pool of three machines ROUNDS=500 times under 10 jobs a round, and compare results by content
	$(BIN)/python -m tests.soak --rounds $(ROUNDS) --jobs $$((10 * $(ROUNDS))) --dags $$(($(ROUNDS) / 5)) --seed $(SEED)

gridengine-conformance: $(VENV)/ready ## replay transcripts, sessions and mistakes of Grid Engine; draw new ones on the one that ROOST_GRIDENGINE_CELL names
	ROOST_TEST_TRANSCRIPTS=all ROOST_TEST_SESSIONS=all ROOST_TEST_MISTAKES=all ROOST_GRIDENGINE_SEED=$(SEED) \
		$(BIN)/python -m pytest -q -rs tests/gridengine/test_conformance.py tests/gridengine/test_mistakes.py \
		tests/gridengine/test_sessions.py tests/transcripts

gridengine-kills: $(VENV)/ready ## kill daemons ROUNDS=50 times under arrays and parallel jobs of a cell
	ROOST_KILL_ROUNDS=$(if $(filter file,$(origin ROUNDS)),50,$(ROUNDS)) ROOST_KILL_SEED=$(SEED) $(BIN)/python -m pytest -q -s \
		tests/integration/test_cell_kill_rounds.py

differential: $(VENV)/ready ## compare N=500 random cases in simulation and on real daemons, from SEED=1 on
	$(BIN)/python -m tests.differential --seed $(SEED) --count $(if $(filter file,$(origin N)),500,$(N)) --processes $(JOBS)

replay: $(VENV)/ready ## all scenario files on real daemons whose time is driven
	$(BIN)/python -m roost.cli lab test --real --processes $(JOBS) src/roost/lab/scenarios

conformance: $(VENV)/ready ## compare N=1000000 cases with the reference library
	$(BIN)/python -m tests.conformance --cases $(N) --seed $(SEED)

fuzz: $(VENV)/ready ## hostile input for a long time
	ROOST_FUZZ_CASES=$(N) $(BIN)/python -m pytest -q tests/classad/test_hostile.py

docs: $(VENV)/ready ## write the generated reference pages, man pages and completions again
	$(BIN)/python -m website.manual.generate docs

site: $(VENV)/ready ## build the documentation site in build/site, and check its links
	$(BIN)/python website/build.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build src/*.egg-info
