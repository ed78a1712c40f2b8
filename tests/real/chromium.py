"""Chromium of the distribution, and the playwright that drives it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from real.packages import python_packages

VERSION = "chromium"


@dataclass(frozen=True)
class Chromium:
    """Where both are."""

    browser: str
    packages: Path


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Both, with playwright on the path of the processes that are started meanwhile.

    Raises AssertionError that says what to do.
    """
    browser = shutil.which("chromium")
    assert browser is not None, "the browser's tests need Chromium: apt-get install chromium"
    packages = python_packages("browser")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(packages), before)))
    try:
        yield Chromium(browser, packages)
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
