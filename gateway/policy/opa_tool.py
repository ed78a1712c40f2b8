"""The command `opa` on policy folders: its strict check, its formatter and its test runner. It says nothing about a
policy that already decides; it says what another engine makes of one that is being written.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.policy.base import PolicyProblem
from gateway.policy.testing import TestResult

SECONDS = 60.0
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
# What a gateway's folders may hold beside Rego and data (see `gateway.policy.pack`). OPA would take it for data.
_IGNORED = ("--ignore=.*", "--ignore=*.schema.json", "--ignore=*.md")


class OpaToolFailed(Exception):  # noqa: N818 - named for what it is
    """The tool cannot be run, or said nothing that can be read. One sentence that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaTestResult:
    """One test as OPA ran it."""

    file: str
    name: str
    is_passed: bool
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A test that did not become the same in both engines: `passed`, `failed` or `not run`."""

    file: str
    name: str
    embedded: str
    opa: str


def differences(mine: Sequence[TestResult], theirs: Sequence[OpaTestResult]) -> tuple[Difference, ...]:
    """Every test of which the two say different things, in the order of files and names."""
    embedded = {(each.file, each.name): each.is_passed for each in mine}
    opa = {(each.file, each.name): each.is_passed for each in theirs}
    return tuple(
        Difference(file=key[0], name=key[1], embedded=_word(embedded.get(key)), opa=_word(opa.get(key)))
        for key in sorted(embedded.keys() | opa.keys())
        if embedded.get(key) is not opa.get(key)
    )


def _word(is_passed: bool | None) -> str:
    return "not run" if is_passed is None else "passed" if is_passed else "failed"


def find_opa() -> Path | None:
    """The `opa` beside this Python or on PATH; None when there is none."""
    return next(opas(), None)


def opas() -> Iterator[Path]:
    """Each `opa` that there is, the nearest first: beside this Python, then on PATH."""
    places = (str(Path(sys.executable).parent), None)
    return (Path(found) for place in places if (found := shutil.which("opa", path=place)) is not None)


class OpaTool:
    """Runs one `opa`, with no environment and for a minute at most. Every method raises `OpaToolFailed`."""

    def __init__(self, binary: Path, *, seconds: float = SECONDS, max_output_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._binary = binary
        self._seconds = seconds
        self._max_output_bytes = max_output_bytes

    async def check(self, folders: Sequence[Path]) -> tuple[PolicyProblem, ...]:
        """What `opa check --strict` holds against the folders; when that is nothing, what `opa fmt` does."""
        code, _, told = await self._run("check", "--strict", "--format=json", *_IGNORED, *_uris(folders))
        if code != 0:
            return _problems(told, folders)
        # Without --fail, which stops at the first file: everything that is wrong is reported together.
        code, told, error = await self._run("fmt", "--list", *(str(each.absolute()) for each in folders))
        if code != 0:
            raise OpaToolFailed(f"opa fmt failed: {_first_line(error)}")
        return tuple(_unformatted(_as_given(file, folders)) for file in told.splitlines())

    async def test(self, folders: Sequence[Path]) -> tuple[OpaTestResult, ...]:
        """What became of each test. Raises `OpaToolFailed` also for folders that OPA does not load."""
        code, told, error = await self._run("test", "--format=json", *_IGNORED, *_uris(folders))
        if code not in {0, 2} or (code == 2 and not told.strip()):
            raise OpaToolFailed(f"opa test did not run: {_first_line(error)}; see tollhouse policy check")
        try:
            return _results(json.loads(told or "[]"), folders)
        except (ValueError, KeyError, TypeError, AttributeError) as unreadable:
            raise OpaToolFailed("what opa test says cannot be read; use another version of opa") from unreadable

    async def _run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error. The process never outlives this call."""
        try:
            process = await asyncio.create_subprocess_exec(
                self._binary, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env={}, start_new_session=True
            )
        except OSError as error:
            message = f"{self._binary} cannot be run: {error.strerror}; name an opa that can, or use --no-opa"
            raise OpaToolFailed(message) from error
        try:
            async with asyncio.timeout(self._seconds):
                told, said = await asyncio.gather(*(self._read(process, each) for each in _outputs(process)))
                code = await process.wait()
        except TimeoutError as error:
            message = f"opa {arguments[0]} did not end within {self._seconds:g} s"
            raise OpaToolFailed(f"{message}; look for a rule that never ends") from error
        finally:
            _kill(process)
            await process.communicate()  # what it still said; a full pipe would keep it from being waited for
        if max(len(told), len(said)) > self._max_output_bytes:
            raise OpaToolFailed(f"opa said more than {self._max_output_bytes} bytes; give it fewer folders")
        return code, told.decode("utf-8", "replace"), said.decode("utf-8", "replace")

    async def _read(self, process: Process, stream: asyncio.StreamReader) -> bytes:
        """All that it says; one that says too much is ended, so that it says no more on the other stream either."""
        raw = bytearray()
        while len(raw) <= self._max_output_bytes and (chunk := await stream.read(_CHUNK_BYTES)):
            raw += chunk
        if len(raw) > self._max_output_bytes:
            _kill(process)
        return bytes(raw)


def _outputs(process: Process) -> tuple[asyncio.StreamReader, asyncio.StreamReader]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout, process.stderr


def _kill(process: Process) -> None:
    """It and whatever it started: an `opa` may be a script, and its child would hold the pipes open."""
    is_over = process.returncode is not None and all(stream.at_eof() for stream in _outputs(process))
    if not is_over:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _uris(folders: Sequence[Path]) -> list[str]:
    """OPA takes what stands before a colon of a plain path for a place in the data."""
    return [folder.absolute().as_uri() for folder in folders]


def _as_given(file: str, folders: Sequence[Path]) -> str:
    """The file's name as the embedded engine shows it: below the folder that the user named."""
    for folder in folders:
        if Path(file).is_relative_to(folder.absolute()):
            return str(folder / Path(file).relative_to(folder.absolute()))
    return file


def _problems(told: str, folders: Sequence[Path]) -> tuple[PolicyProblem, ...]:
    """The errors of `--format=json`; a text of any other form is one problem."""
    try:
        return tuple(_problem(each, folders) for each in json.loads(told)["errors"])
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"opa check failed: {_first_line(told)}; name another opa, or use --no-opa"
        return (PolicyProblem(file="-", rule="opa_check", message=message),)


def _problem(error: dict[str, Any], folders: Sequence[Path]) -> PolicyProblem:
    place = error.get("location") or {}
    file = f"{_as_given(place['file'], folders)}:{place['row']}" if place else "-"
    return PolicyProblem(file=file, rule=str(error.get("code", "opa_check")), message=str(error["message"]))


def _unformatted(file: str) -> PolicyProblem:
    return PolicyProblem(file=file, rule="format", message="is not formatted; run opa fmt --write on it")


def _results(answer: Any, folders: Sequence[Path]) -> tuple[OpaTestResult, ...]:
    """One for each test rule, in order. Rules of one name are one test, which passes when all of them do."""
    if not isinstance(answer, list):
        raise TypeError(type(answer).__name__)
    found: dict[tuple[str, str], OpaTestResult] = {}
    for each in answer:
        if each.get("skip"):
            continue
        name = str(each["name"]).partition("#")[0]
        file = _as_given(each["location"]["file"], folders)
        error = _why_failed(each)
        if not error and (file, name) in found:
            continue
        found[file, name] = OpaTestResult(file=file, name=name, is_passed=not error, error=error)
    return tuple(found[key] for key in sorted(found))


def _why_failed(result: dict[str, Any]) -> str:
    """Empty when it passed."""
    if error := result.get("error"):
        return str(error.get("message", "failed")) if isinstance(error, dict) else str(error)
    return "is not true" if result.get("fail") else ""


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".;") if lines else "it said nothing"
