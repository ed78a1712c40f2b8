# Everything happens in .venv. `make demo` and `make test` are all that a new machine needs.
PYTHON ?= python3
BIN := .venv/bin
export PYTHONSAFEPATH := 1
export RUST_BACKTRACE := 0
# Every worker has to see the same cases under the same names.
export PYTHONHASHSEED := 0

.PHONY: demo test check faults vendors bench proto fmt clean lock

.venv/installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "tollhouse needs Python 3.11 or newer; set PYTHON=/path/to/python3")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# OPA has no wheel: it is taken from PATH or built once. The demo does without when neither is possible.
demo: .venv/installed
	@$(BIN)/python tests/real/bring.py $(BIN)/opa --optional
	@$(BIN)/tollhouse demo

test: .venv/installed
	@$(BIN)/python tests/real/bring.py $(BIN)/opa
	@$(BIN)/python -m pytest -n 3 --dist loadfile --ignore tests/faults --ignore tests/vendors/servers \
	  --ignore tests/vendors/descriptions --ignore tests/vendors/test_new_vendor.py $(ARGS)
	@$(BIN)/python -m pytest tests/faults --ignore tests/faults/test_replicas.py

check: .venv/installed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python proto/generate.py --check
	@cd proto && ../$(BIN)/buf lint && ../$(BIN)/buf format --exit-code --diff && ../$(BIN)/buf breaking --against released.binpb
	@$(BIN)/python docs/generate.py --check
	@$(BIN)/python tests/mirror.py

proto: .venv/installed
	@$(BIN)/python proto/generate.py

fmt: .venv/installed
	@$(BIN)/ruff check --fix --unsafe-fixes . ; $(BIN)/ruff format .

faults: .venv/installed
	@$(BIN)/python tests/real/bring.py $(BIN)/opa
	@$(BIN)/python tests/faults/run.py $(ARGS)
	@$(BIN)/python -m pytest tests/faults/test_replicas.py

# Against real servers and the vendors' own descriptions, which it brings: Node 20 and npm are needed.
vendors: .venv/installed
	@$(BIN)/python tests/vendors/run.py $(ARGS)

bench: .venv/installed
	@$(BIN)/python tests/bench/run.py $(ARGS)

lock:
	@$(PYTHON) -m venv .lock-venv && .lock-venv/bin/pip install --quiet --upgrade pip && .lock-venv/bin/pip install --quiet . --group dev \
	  && .lock-venv/bin/pip freeze --exclude tollhouse > requirements.lock; rm -rf .lock-venv

clean:
	rm -rf .venv .run build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
