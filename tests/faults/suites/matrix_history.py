"""One gateway of the matrix: one of its parts is broken in every way, one after the other, while calls come in."""

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from fakes.child import calling
from fakes.served import asked
from faults.suites import matrix_cells as cells
from faults.suites.accounts import ANSWERS
from faults.suites.answers import CUT, OK, WELL
from faults.suites.matrix_breaks import Breakable
from faults.suites.matrix_parts import Servers, placed
from faults.suites.nursery import Child, NotStarted, Nursery
from faults.suites.suite import Form, Records

from gateway.v1 import codes_pb2

TURNING, BROKEN, WAITING = "turning", "broken", "waiting"
"""Phases of calls: from the break until it is felt, while the part is broken, and from its repair until all is well."""
PENDING = "pending"
REASON = "tollhouse-reason"
"""The trailing metadata that says why there was no call."""
CELLS = "cells.jsonl"
READ, WRITE, SEND = "read", "write", "send"
KINDS = (READ, WRITE, SEND)
WELL_SECONDS, START_SECONDS = 10.0, 20.0
POLL_SECONDS = 0.02
STARTS = 5


class Caller:
    """Calls a gateway and keeps every answer, as `answers.Caller` does, with more fields beside."""

    def __init__(self, stub: Any, records: Records, word: str) -> None:
        self._stub = stub
        self._records = records
        self._word = word
        self._numbers = itertools.count()

    async def call(self, kind: str, phase: str, *, asks: bool = False, **cell: Any) -> str:
        """One call, of which policy asks a person or not; its outcome, `cut` also when there was no call."""
        says = f"{'ask' if asks else 'good'} {self._word} {kind} {next(self._numbers)}"
        key = "" if kind == READ else says.replace(" ", "-")
        fields = {"phase": phase, "kind": kind, "key": key, "asks": asks, **cell}
        try:
            answer = await self._stub.CallTool(_request(kind, key or says), timeout=30)
        except grpc.aio.AioRpcError as error:
            reason = dict(error.trailing_metadata() or ()).get(REASON, CUT)
            self._records.add(**fields, outcome=reason, call_id="", replay=False, status=error.code().name)
            return CUT
        outcome = _outcome(answer)
        self._records.add(**fields, outcome=outcome, call_id=answer.call_id, replay=answer.replay)
        return outcome

    async def each(self, phase: str, **more: Any) -> list[str]:
        """One call of each kind, all at once; their outcomes."""
        return list(await asyncio.gather(*(self.call(kind, phase, **more) for kind in KINDS)))


def _request(kind: str, says: str) -> Any:
    if kind == READ:
        return asked("echo_sealed", json.dumps({"text": says}))
    if kind == WRITE:
        return asked("note_sealed", json.dumps({"path": says}), key=says)
    return asked("mail_sealed", json.dumps({"to": ["ann@corp.example"], "body": says}), key=says)


def _outcome(answer: Any) -> str:
    found = answer.WhichOneof("outcome")
    if found != "error":
        return OK if found == "result" else PENDING
    return codes_pb2.Reason.Name(answer.error.reason).removeprefix("REASON_").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a history goes."""

    rounds: int
    """How often each way."""
    calls: int
    """Of each kind in each cell, while it is broken."""
    felt_seconds: float = 8.0
    """How long it may take until a break is felt."""


async def broken_in_every_way(
    folder: Path, ways: Sequence[str], beside: Servers, made: Nursery, course: Course, form: Form
) -> None:
    """The whole history of one part's gateway, its artifacts in the folder, which is named after the part."""
    part = folder.name
    with Records(folder / ANSWERS) as answers, Records(folder / CELLS) as kept:
        async with beside.room, placed(part, folder, beside) as place:
            options = {"part": part, "is_open": bool(form.mutant), "vendor": place.vendor}
            child = await _started(made, folder, **options, settings=place.settings.model_dump(mode="json"))
            async with calling(folder) as stub:
                await _History(part, Caller(stub, answers, part), kept, place.part, course).live(ways, form)
            await child.stop()


async def _started(made: Nursery, folder: Path, **options: Any) -> Child:
    """A start has its deadlines, too, and a machine that is busy misses one now and then: no finding of this suite."""
    for _ in range(STARTS - 1):
        try:
            return await made.start(folder, **options)
        except NotStarted:
            continue
    return await made.start(folder, **options)


class _History:
    def __init__(self, part: str, caller: Caller, kept: Records, breakable: Breakable, course: Course) -> None:
        self._part = part
        self._caller = caller
        self._kept = kept
        self._breakable = breakable
        self._course = course
        self._asks = part == cells.APPROVALS
        """Its part is missed by calls alone that a person is asked of."""

    async def live(self, ways: Sequence[str], form: Form) -> None:
        await self._well("", 0, START_SECONDS)
        for number, way in itertools.product(range(self._course.rounds), ways):
            await self._caller.each(WELL)
            await self._cell(way, number)
            form.tick()
        await self._caller.each(WELL)

    async def _cell(self, way: str, number: int) -> None:
        began = time.monotonic()
        await self._breakable.turn(way)
        try:
            is_felt = await self._felt(way, number, TURNING)
            felt = time.monotonic()
            await self._caller.each(TURNING, way=way, round=number, asks=self._asks)  # what was open before is gone now
            for _ in range(self._course.calls):
                await self._caller.each(BROKEN, way=way, round=number, asks=self._asks)
            await self._felt(way, number, BROKEN)  # while the journal is broken most calls do not even begin
        finally:
            await self._breakable.turn("")
        mended = time.monotonic()
        is_well = await self._well(way, number, WELL_SECONDS)
        self._kept.add(
            way=way,
            round=number,
            felt_seconds=round(felt - began, 3) if is_felt else None,
            well_seconds=round(time.monotonic() - mended, 3) if is_well else None,
        )

    async def _felt(self, way: str, number: int, phase: str) -> bool:
        """Whether a write came to be told as the cell has it, in time."""
        reason, until = cells.expected(self._part, way).effect.reason, time.monotonic() + self._course.felt_seconds
        while await self._caller.call(WRITE, phase, way=way, round=number, asks=self._asks) != reason:
            if time.monotonic() > until:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    async def _well(self, way: str, number: int, seconds: float) -> bool:
        """Whether a call of each kind went well together, in time."""
        good, until = PENDING if self._asks else OK, time.monotonic() + seconds
        while set(await self._caller.each(WAITING, way=way, round=number, asks=self._asks)) != {good}:
            if time.monotonic() > until:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True
