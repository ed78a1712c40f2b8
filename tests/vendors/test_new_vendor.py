"""`adapters/README.md` followed step by step: a copy of the tree, a new vendor in it, and the suites that all share."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PARCELS = ROOT / "tests" / "fakes" / "vendors" / "parcels"
COPIED = ("adapters", "gateway", "pyproject.toml")
COPIED += ("tests/conftest.py", "tests/contract", "tests/fakes", "tests/real", "tests/vendors")
CONTRACTS = ("tests/contract/test_adapter.py", "tests/contract/test_api_adapter.py")
PACKAGES = '"adapters.parcels", "adapters.posthog", "adapters.sentry", "adapters.slack"'
IGNORED = shutil.ignore_patterns("__pycache__")


def change(file: Path, pattern: str, replacement: str) -> None:
    """Write what a step says into a list that somebody wrote."""
    text, count = re.subn(pattern, replacement, file.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1, f"{file.name} has no place for a new vendor any more: mend this test"
    file.write_text(text)


def write_adapter(tree: Path) -> None:
    """Steps 1 and 2."""
    folder = tree / "adapters" / "parcels"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name in ("adapter.py", "tools.yaml"):
        shutil.copy(PARCELS / name, folder)


def name_it(tree: Path) -> None:
    """Step 3."""
    installed = tree / "adapters" / "installed.py"
    line = "from adapters.parcels.adapter import ParcelsAdapter"
    change(installed, r"^(from adapters\.posthog)", rf"{line}\n\1")
    change(installed, r"^_APIS = \(", "_APIS = (ParcelsAdapter, ")
    for _ in range(2):  # those that may not know one another, and those that only the list may know
        change(tree / "pyproject.toml", r'"adapters\.posthog", "adapters\.sentry", "adapters\.slack"', PACKAGES)


def write_cases_and_table(tree: Path) -> None:
    """Step 4."""
    cases = tree / "tests" / "fakes" / "cases"
    shutil.copy(PARCELS / "cases.py", cases / "parcels.py")
    change(cases / "every.py", r"^from fakes\.cases import ", "from fakes.cases import parcels, ")
    change(cases / "every.py", r"^_VENDORS = \(", "_VENDORS = (parcels, ")
    shutil.copy(PARCELS / "table.yaml", tree / "tests" / "vendors" / "table" / "parcels.yaml")


def prove_it(tree: Path) -> None:
    """Step 5."""
    shutil.copy(PARCELS / "proofs.py", tree / "tests" / "vendors" / "servers" / "test_parcels.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the product and of the suites, with the vendor's adapter in it and in the list."""
    for name in COPIED:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=IGNORED)
        else:
            shutil.copy(ROOT / name, target)
    write_adapter(tmp_path)
    name_it(tmp_path)
    return tmp_path


def run(tree: Path, *command: str) -> str:
    """Everything that a Python says in the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "120"}
    whole = [sys.executable, "-B", *command]
    done = subprocess.run(whole, cwd=tree, env=environment, check=False, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def pytest_in(tree: Path, *options: str) -> str:
    """What pytest says of the tree's own tests."""
    return run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options)


def test_a_vendor_that_was_added_in_five_steps_passes_what_all_vendors_pass(tree: Path) -> None:
    """The contract of every adapter and that of JSON APIs, over all three operations."""
    write_cases_and_table(tree)
    said = pytest_in(tree, *CONTRACTS, "-k", "parcels")
    found = re.search(r"^(\d+) passed, \d+ deselected", said, re.MULTILINE)
    assert found, said[-3000:]
    assert int(found[1]) > 200


def test_a_vendor_that_was_added_in_five_steps_is_counted(tree: Path) -> None:
    """Every row of its table is right, and nothing of it lacks a proof."""
    write_cases_and_table(tree)
    prove_it(tree)
    said = run(tree, "tests/vendors/run.py", "-k", "parcels")
    counted = json.loads((tree / ".run" / "vendors.json").read_text())
    expected = {"operations": 3, "passed": 7, "failed": 0, "server": "own", "description": "none"}
    assert counted["vendors"]["parcels"] == expected, said[-3000:]
    assert counted["table_rows"] == counted["table_right"] == 19
    assert "not proved: parcels" not in said


def test_a_vendor_without_a_case_is_named(tree: Path) -> None:
    """Step 4 cannot be forgotten."""
    said = pytest_in(tree, CONTRACTS[0], "-k", "every_operation_has_a_case")
    assert "1 failed" in said
    assert "('parcels', 'book_pickup')" in said


def test_a_vendor_without_a_proof_is_named(tree: Path) -> None:
    """Nor can step 5."""
    write_cases_and_table(tree)
    said = run(tree, "tests/vendors/run.py", "-k", "parcels")
    assert "not proved: parcels.list_parcels paging" in said


def test_the_steps_are_five() -> None:
    """And name the files that this test writes."""
    text = (ROOT / "adapters" / "README.md").read_text()
    assert re.findall(r"^(\d)\. \*\*", text, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    for file in ("adapter.py", "tools.yaml", "installed.py", "pyproject.toml", "cases/every.py", "table/<vendor>.yaml"):
        assert file in text
