"""What servers and checkers that are not ours are pinned to."""

from pathlib import Path

import pytest
from real import packages as of_tests

from gateway.cli.demo import packages as of_demo

FOLDERS = [Path(module.__file__ or "").parent for module in (of_demo, of_tests)]
PINS = sorted(file for folder in FOLDERS for file in folder.glob("pip/*.txt"))
LOCKS = sorted(file for folder in FOLDERS for file in folder.glob("npm/*/package-lock.json"))


@pytest.mark.parametrize("file", PINS, ids=lambda file: file.name)
def test_every_package_of_python_is_pinned(file: Path) -> None:
    """To one version."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    assert all(line.count("==") == 1 for line in lines)


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.parent.name)
def test_no_lock_file_says_where_a_package_came_from(file: Path) -> None:
    """Whoever brings it may have a registry of their own; what has to be the same is its content."""
    text = file.read_text()
    assert '"resolved"' not in text
    assert '"integrity": "sha512-' in text
