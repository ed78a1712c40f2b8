"""The process that takes pictures; what is made of its answers see test_screenshot.py."""

import asyncio
import sys
import tempfile
from pathlib import Path

import fakes.photographer
import pytest
from fakes.photographer import PNG

from adapters.base import AdapterError, ErrorKind, Fault, Target
from adapters.web import browser
from adapters.web.browser import browser_of, picture_of

WANTED = {"url": "http://x.example/say/well"}
COMMAND = (sys.executable, "-P", str(Path(fakes.photographer.__file__)), "")


@pytest.fixture
def playwright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name that can be found."""
    (tmp_path / "playwright").mkdir()
    (tmp_path / "playwright" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))


async def test_a_process_is_asked_and_answers() -> None:
    """What it tells and the picture."""
    picture = await picture_of(COMMAND, WANTED)
    assert picture.png == PNG
    assert picture.told["title"] == "A page"
    assert "A page" not in repr(picture)


def entries_of(folder: Path) -> list[str]:
    """What is in it."""
    return [entry.name for entry in folder.iterdir()]


def open_files() -> int:
    """Of this process."""
    return len(entries_of(Path("/dev/fd")))


async def test_a_picture_that_is_not_read_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pipe, and no folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = open_files()
    with pytest.raises(AdapterError) as caught:
        await picture_of(COMMAND, {"url": "http://x.example/say/large"})
    assert caught.value.kind is ErrorKind.TOO_LARGE
    await asyncio.sleep(0)
    assert open_files() <= before
    assert entries_of(tmp_path) == []


@pytest.mark.usefixtures("playwright")
def test_a_browser_is_the_one_that_is_named() -> None:
    """By its path, when something that can be run is there."""
    assert browser_of(Target(name="w", options={"browser": sys.executable})) == sys.executable
    with pytest.raises(AdapterError) as caught:
        browser_of(Target(name="w", options={"browser": "/nowhere/chromium"}))
    assert (caught.value.kind, caught.value.fault) == (ErrorKind.UNAVAILABLE, Fault.NOT_LOADED)


@pytest.mark.usefixtures("playwright")
def test_a_browser_is_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of those that are known."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AdapterError):
        browser_of(Target(name="w"))
    for name in ("google-chrome", "chromium"):
        (tmp_path / name).touch(mode=0o755)
        assert browser_of(Target(name="w")) == str(tmp_path / name)


def test_without_playwright_there_is_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if one is installed."""
    monkeypatch.setattr(browser.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(AdapterError) as caught:
        browser_of(Target(name="w", options={"browser": sys.executable}))
    assert "tollhouse[browser]" in caught.value.message
