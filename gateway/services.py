"""What works over the state for as long as the process lives: approvals, budgets, runs, handles, outcomes, and the
chores that keep all of them.
"""

import contextlib
import random

from gateway.administration import Administration
from gateway.admission import Admission, Overloaded
from gateway.approvals.base import Approved
from gateway.approvals.bell import Bell
from gateway.approvals.desk import StoreDesk
from gateway.approvals.means import Means
from gateway.approvals.store import StoreApprovals
from gateway.asserting import asserting_by
from gateway.audit.deeds import Deeds
from gateway.audit.trail import Trail
from gateway.budget.charging import Charging
from gateway.budget.runs import Runs
from gateway.budget.store import StoreBudget
from gateway.budget.tariffs import Tariffs
from gateway.call import Answer
from gateway.credentials.resolver import Resolver
from gateway.deciding import Deciding
from gateway.deployment import Current, Deployment, Machinery
from gateway.errors import Reason, Refusal
from gateway.events.events import EventMeans, Events
from gateway.execution import Executor
from gateway.halting import Halting
from gateway.handles.handles import HandleParts, Handles
from gateway.handles.kept import KeptCalls
from gateway.interrupt import Interrupt
from gateway.keeping import Chore
from gateway.parts import Parts
from gateway.pipeline import Pipeline
from gateway.policy.admin import AdminPolicy
from gateway.ratelimit.limits import Limits
from gateway.registry.catalogue import Catalogue
from gateway.registry.changes import Changes
from gateway.registry.health import ConnectionHealth
from gateway.resolution.desk import Desk, may_by_scope
from gateway.resolution.reconciler import Reconciler
from gateway.resolution.settling import Settling
from gateway.resolution.tools import finder
from gateway.resolution.vendors import Vendors
from gateway.result.artifacts import Artifacts
from gateway.settings.events import EventSettings
from gateway.settings.load import Settings
from gateway.state import State

LOOK_AFTER_SECONDS = 5.0
FORGET_SECONDS = 3600.0
FORGET_EVENTS_SECONDS = 60.0


class Services:
    """Everything that the pipelines of one process share. `state` is open, and nothing is asked of anybody yet."""

    def __init__(self, state: State, machinery: Machinery, current: Current, admission: Admission) -> None:
        settings, clock, database, seal = current.settings, machinery.clock, state.database, machinery.seal
        self._state = state
        self._machinery = machinery
        self._current = current
        self._admission = admission
        self.deeds = Deeds(state.audit.journal, state.audit.sink, clock=clock, new_id=machinery.new_id)
        self.follower = machinery.follower
        self.halting = Halting(machinery.follower)
        self.health = ConnectionHealth(database, clock=clock)
        self.runs = Runs(database, clock=clock, seal=seal)
        self.budget = StoreBudget(database, clock=clock)
        means = Means(
            database=database,
            seal=seal,
            clock=clock,
            writer=state.writer,
            settings=settings.approvals,
            new_id=machinery.new_id,
            bell=Bell(),
        )
        self.approvals = StoreApprovals(means)
        self.desk = StoreDesk(means)
        self.executor = Executor(self._execute, self.approvals, clock=clock, log=machinery.log)
        self.administration = Administration(
            database,
            policy=AdminPolicy(machinery.engine),
            deeds=self.deeds,
            changes=self._changes(machinery) if settings.registry.source == "store" else None,
            on_changed=machinery.follower.poke,
            clock=clock,
        )
        self.deciding = Deciding(self.desk, self.deeds, self.executor)
        self.artifacts = Artifacts(
            settings.state_dir / "artifacts", settings.artifacts, seal=seal, clock=clock, new_id=machinery.new_secret_id
        )
        self.handles = Handles(
            HandleParts(
                calls=current,
                kept=KeptCalls(database, writer=state.writer, clock=clock, seal=seal, settings=settings.handles),
                keys=state.keys,
                parked=self.approvals,
                admission=admission,
                clock=clock,
                settings=settings.handles,
            )
        )
        self.reconciler, self.unresolved = self._outcomes(machinery)
        self.events = self._events(machinery, settings.events) if settings.events is not None else None

    def _events(self, machinery: Machinery, settings: EventSettings) -> Events:
        """What happens at vendors, by the registry and the settings of the moment."""
        current, stops = self._current, machinery.follower.stops
        means = EventMeans(
            database=machinery.database,
            seal=machinery.seal,
            catalogue=lambda: current.catalogue,
            webhooks=machinery.webhooks,
            lends=lambda: resolver_of(current.settings, machinery),
            check=lambda caller: stops.check(caller.tenant, caller.agent, "", ""),
            most_in_all=current.settings.limits.max_in_flight,
            clock=machinery.clock,
            log=machinery.log,
        )
        return Events(means, settings)

    def _outcomes(self, machinery: Machinery) -> tuple[Reconciler, Desk]:
        """Who finds out what nobody knows: vendors are asked, and people tell."""
        current, database, clock = self._current, machinery.database, machinery.clock
        settings = current.settings.resolution
        vendors = Vendors(
            finder(lambda: current.catalogue, machinery.adapters),
            credentials=lambda: resolver_of(current.settings, machinery),
            seal=machinery.seal,
            clock=clock,
            ask_seconds=settings.ask_seconds,
        )
        settling = Settling(database, self.deeds, clock)
        reconciler = Reconciler(
            database, vendors, settling, settings=settings, clock=clock, chance=random.random, log=machinery.log
        )
        return reconciler, Desk(database, vendors, settling, self.deeds, may_by_scope)

    def _changes(self, machinery: Machinery) -> Changes:
        """Of rows of the store, each checked as a start would check it."""
        current = self._current

        async def against(before: Catalogue, after: Catalogue) -> tuple[str, ...]:
            return (*await machinery.policy_against(before, after), *await machinery.vault_against(after))

        return Changes(
            machinery.database,
            machinery.registry,
            settings=lambda: current.settings,
            clock=machinery.clock,
            against=against,
        )

    def pipeline(self, deployment: Deployment, limits: Limits) -> Pipeline:
        """The path over one deployment. What lives as long as the process is shared by all."""
        settings, machinery, catalogue = deployment.settings, self._machinery, deployment.catalogue
        return Pipeline(
            Parts(
                admission=self._admission,
                journal=self._state.audit.journal,
                sink=self._state.audit.sink,
                late=self._state.late,
                catalogue=lambda: catalogue,
                keys=self._state.keys,
                halts=self.halting,
                charging=self._charging(settings),
                budget=self.budget,
                engine=machinery.engine,
                approvals=self.approvals,
                keep=self.artifacts.keep,
                limits=limits.under(settings.limits),
                credentials=resolver_of(settings, machinery),
                asserting=asserting_by(machinery.assertions),
                seen=self.health.seen,
                metrics=machinery.metrics,
                clock=machinery.clock,
                new_id=machinery.new_id,
                max_argument_bytes=settings.arguments.max_bytes,
                max_call_seconds=settings.server.max_call_seconds,
            )
        )

    def _charging(self, settings: Settings) -> Charging:
        """What calls are charged under these settings."""
        return Charging(Tariffs([(one.tenant, one.allowance) for one in settings.budgets]), self.runs)

    def chores(self) -> tuple[Chore, ...]:
        """What is to be done again and again."""
        return (
            Chore(name="keys", work=self._state.keys.mend),
            Chore(name="late_lines", work=self._state.late.tick),
            Chore(name="others", work=self._state.look_after_others, every_seconds=LOOK_AFTER_SECONDS),
            Chore(name="closings", work=self._state.forget_old, every_seconds=FORGET_SECONDS),
            Chore(name="budgets", work=self.budget.mend),
            Chore(name="approvals", work=self._sweep),
            Chore(name="handles", work=self.handles.tick),
            Chore(name="artifacts", work=self.artifacts.tick),
            Chore(name="outcomes", work=self._reconcile),
            Chore(name="events", work=self._forget_events, every_seconds=FORGET_EVENTS_SECONDS),
        )

    async def start(self, stack: contextlib.AsyncExitStack) -> None:
        """They work until the stack is closed. Raises `StartError`."""
        await self.artifacts.open()
        stack.push_async_callback(self.artifacts.close)
        stack.push_async_callback(self.health.stop)
        await self.health.start()
        stack.push_async_callback(self.reconciler.stop)
        stack.push_async_callback(self._end_calls)

    def drain(self) -> None:
        """Nobody follows a call or approvals any more, who would keep the server from ending, and no approved call
        begins; what is at work goes on.
        """
        self.executor.drain()
        self.handles.drain()
        self.desk.drain()
        if self.events is not None:
            self.events.drain()

    async def _end_calls(self) -> None:
        """Handles and approved calls that are at work end by themselves, or are cut off with the drain."""
        seconds = self._current.settings.server.drain_seconds
        await self.executor.stop(seconds)
        await self.handles.stop(seconds=seconds)

    async def _sweep(self) -> None:
        await self.executor.sweep(await self._state.every_tenant())

    async def _forget_events(self) -> None:
        if self.events is not None:
            await self.events.forget(await self._state.every_tenant())

    async def _reconcile(self) -> None:
        self.reconciler.tick()

    async def _execute(self, approved: Approved) -> Answer:
        """An approved call has its place in the gateway, and can be followed and stopped as any other."""
        try:
            with self._admission.room:
                return await self.handles.attend(
                    approved.principal,
                    approved.request,
                    Nobody(),
                    lambda running: self._current.execute(approved, running),
                )
        except Overloaded as overloaded:
            message = "The gateway is overloaded; the approved call waits."
            raise Refusal(Reason.CALLER_RATE, message, retry_after_ms=1000) from overloaded


class Nobody:
    """An `Announcement` to a caller that is not there any more."""

    def begin(self, call_id: str) -> None:
        """Nobody is told."""

    def end(self) -> None:
        """Nobody is told."""

    def follow(self, trail: Trail) -> Interrupt | None:
        """Nobody stops it."""


def resolver_of(settings: Settings, machinery: Machinery) -> Resolver:
    """Who may use which credential under these settings."""
    return Resolver(machinery.sources, settings.credentials, machinery.lenders)
