"""What is brought from a registry is brought once, whole or not at all, and what is missing is said in a sentence."""

import sys
import threading
from pathlib import Path

import pytest

from gateway.cli.demo import packages
from gateway.cli.demo.packages import Absent, brought, node, npm, python_command, run, version_of


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything is brought to."""
    monkeypatch.setattr(packages, "ROOM", tmp_path / "room")
    return tmp_path / "room"


def _file(folder: Path) -> None:
    (folder / "program").write_text("x")


def test_a_folder_is_filled_once_for_what_is_wanted(room: Path) -> None:
    """Something else that is wanted is another folder."""
    times: list[Path] = []

    def install(folder: Path) -> None:
        times.append(folder)
        _file(folder)

    first = brought("thing", b"1.0", install)
    assert (brought("thing", b"1.0", install), len(times)) == (first, 1)
    assert brought("thing", b"2.0", install) != first
    assert (first / "program").read_text() == "x"
    assert first.parent == room


def test_what_could_not_be_brought_whole_is_brought_again() -> None:
    """Half of it is nowhere to be found."""

    def breaks(folder: Path) -> None:
        _file(folder)
        raise Absent("no network")

    with pytest.raises(Absent, match="no network"):
        brought("thing", b"1.0", breaks)
    assert (brought("thing", b"1.0", _file) / "program").exists()


def test_two_who_want_it_at_once_bring_it_once() -> None:
    """The other waits."""
    times: list[int] = []

    def install(folder: Path) -> None:
        times.append(1)
        _file(folder)

    both = [threading.Thread(target=brought, args=("thing", b"1.0", install)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert times == [1]


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no traceback."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(packages, "ROOM", tmp_path / "file")
    with pytest.raises(Absent, match="cannot be kept in") as caught:
        brought("thing", b"1.0", _file)
    assert "make it writable" in caught.value.message


def test_a_command_that_fails_says_how() -> None:
    """With the end of what it said; one that is not there, too."""
    with pytest.raises(Absent, match="failed; check the network") as caught:
        run(sys.executable, "-c", "print('so'); raise SystemExit('no such package')")
    assert caught.value.problems == ("so", "no such package")
    with pytest.raises(Absent, match="cannot be run"):
        run("/no/such/program")
    run(sys.executable, "-c", "")


@pytest.mark.parametrize("version", ["v18.20.1", "nonsense", ""])
def test_an_old_node_is_none(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one that does not say how old it is."""
    _program(tmp_path / "node", f"echo {version}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Absent, match="there is no Node 20 or newer"):
        node()


def test_a_node_that_is_new_enough_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first on PATH."""
    _program(tmp_path / "node", "echo v22.1.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert node() == str(tmp_path / "node")


def test_without_node_and_npm_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how to get them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for find in (node, npm):
        with pytest.raises(Absent, match="apt-get install"):
            find()
    _program(tmp_path / "node", "exit 1")
    with pytest.raises(Absent, match="Node 20"):
        node()


def test_a_python_sees_the_packages_of_the_folder_alone(tmp_path: Path) -> None:
    """Neither ours nor the current folder's."""
    command, environment = python_command(tmp_path, "-c", "pass")
    assert command[:3] == [sys.executable, "-S", "-B"]
    assert environment == {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}


def test_the_version_is_what_is_installed(tmp_path: Path) -> None:
    """As the package itself says."""
    (tmp_path / "emulate").mkdir()
    (tmp_path / "emulate" / "package.json").write_text('{"version": "0.11.2"}')
    assert version_of(tmp_path, "emulate") == "0.11.2"


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
