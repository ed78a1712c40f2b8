"""Kill matrix: kill -9 at every boundary of the path of a send, then restart; and the same as a power cut.

At most one effect for every key, exactly one line for every call that began, and what nobody can know is said so.
"""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fakes.child import calling
from fakes.effects import vendor
from faults.suites import power
from faults.suites.accounts import ANSWERS, DEATHS, EFFECTS, violations_of
from faults.suites.answers import WELL, Caller
from faults.suites.kill_points import BOUNDARIES, NO_CLAIM, NO_SYNC
from faults.suites.nursery import GATEWAY, Child, NotStarted, Nursery, nursery
from faults.suites.suite import Counts, Form, Records, fresh, records_in

KILL, POWER_CUT = "kill", "power_cut"
AT_ONCE = 3
"""How many boundaries are tried at the same time."""
DEATH_SECONDS = 5.0
ACTED = ("acted", "answer", "settling", "line")
"""Boundaries that show a mutant: the vendor has acted."""


class KillSuite:
    """See the module."""

    name = "kill"
    title = "killed anywhere: one effect for a key at most, one line for a call, the unknown said so"
    mutants: tuple[str, ...] = (NO_CLAIM, NO_SYNC)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """So many deaths at each boundary."""
        deaths = len(BOUNDARIES) * (1 if is_quick else 20)
        return {KILL: deaths, POWER_CUT: deaths}

    async def run(self, folder: Path, form: Form) -> None:
        """Histories of deaths, each at every boundary once."""
        parts = {NO_CLAIM: (KILL,), NO_SYNC: (POWER_CUT,)}.get(form.mutant, (KILL, POWER_CUT))
        boundaries = ACTED if form.mutant else BOUNDARIES
        limit = asyncio.Semaphore(AT_ONCE)
        async with vendor(folder / "v.sock", folder / EFFECTS), nursery(GATEWAY) as made:

            async def one(part: str, number: int) -> None:
                async with limit:
                    await _History(made, folder, part, number, form).run(boundaries)

            rounds = range(1 if form.is_quick else 20)
            await asyncio.gather(*(one(part, number) for number in rounds for part in parts))

    def count(self, folder: Path) -> Counts:
        """Deaths that came about, and what each history shows to be wrong."""
        cases, violations = Counter[str](), []
        for part in sorted(path for path in folder.iterdir() if path.is_dir()):
            for history in sorted(part.iterdir()):
                deaths = records_in(history / DEATHS)
                cases[part.name] += sum(one["status"] == -signal.SIGKILL for one in deaths)
                violations += violations_of(history, folder / EFFECTS, is_power_cut=part.name == POWER_CUT)
        return Counts(cases=cases, violations=tuple(violations))


class _History:
    """A gateway that dies again and again, each time at another boundary, over one state directory."""

    def __init__(self, made: Nursery, folder: Path, part: str, number: int, form: Form) -> None:
        self._made = made
        self._folder = folder / part / str(number)
        self._vendor = str(folder / "v.sock")
        self._is_power_cut = part == POWER_CUT
        self._form = form
        self._prefix = f"{part}-{number}"
        self._chance = random.Random(self._prefix)

    async def run(self, boundaries: Sequence[str]) -> None:
        """A death at each, in any order, then one more start that is let end well."""
        fresh(self._folder)
        with Records(self._folder / ANSWERS) as answers, Records(self._folder / DEATHS) as deaths:
            try:
                await self._live(boundaries, answers, deaths)
            except NotStarted as refused:
                if answers.is_empty:
                    raise  # it never served: that is no finding of this suite
                deaths.add(boundary="start", key="", status=0, refused=str(refused))

    async def _live(self, boundaries: Sequence[str], answers: Records, deaths: Records) -> None:
        last = ""
        for boundary in self._chance.sample(boundaries, len(boundaries)):
            key = f"{self._prefix}-{boundary}"
            child = await self._start(boundary, key)
            await self._calls(answers, last, key)
            deaths.add(boundary=boundary, key=key, status=await _death_of(child))
            if self._is_power_cut:
                power.cut(self._folder, self._chance)
            self._form.tick()
            last = key
        child = await self._start("", "")
        await self._calls(answers, last, "")
        await child.stop()

    async def _start(self, boundary: str, key: str) -> Child:
        return await self._made.start(
            self._folder,
            boundary=boundary,
            key=key,
            vendor=self._vendor,
            mutant=self._form.mutant,
            is_power_cut=self._is_power_cut,
        )

    async def _calls(self, answers: Records, last: str, key: str) -> None:
        """What was cut off last time, with its key again; then calls that are answered; then the one that is not."""
        async with calling(self._folder) as stub:
            caller = Caller(stub, answers)
            if last:
                await caller.send(last, "again")
            await caller.read(WELL)
            await caller.send(f"before-{key or self._prefix}", WELL)
            if key:
                await caller.send(key, "cut off")


async def _death_of(child: Child) -> int:
    """How it died, or 0 when it did not and had to be stopped."""
    try:
        return await asyncio.wait_for(asyncio.shield(child.ended), DEATH_SECONDS)
    except TimeoutError:
        await child.stop()
        return 0
