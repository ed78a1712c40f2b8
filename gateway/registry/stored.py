"""The registry as the store holds it: for each tenant a catalogue of its own, by the same checks as manifests.

Loading keeps what came of each row, so that of ten thousand tools only the one that changed is compiled again. One
tenant's rows that do not load are no other tenant's trouble: its former catalogue goes on.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import Adapter
from gateway.documents import Problem, parse
from gateway.registry.catalogue import Catalogue, joined
from gateway.registry.loader import Loaded, Parts, digest_of, load_parts
from gateway.registry.making import Made, Maker
from gateway.registry.manifest import AgentRow, ConnectionRow, ToolRow
from gateway.registry.places import Placed, read_rows
from gateway.registry.tool_checks import CompileSchema
from gateway.registry.written import LISTS, placed_at
from gateway.settings.load import Settings
from gateway.store.rows import RowKind, StoredRow

EMPTY = Catalogue(agents={}, tools=(), connections=(), digest=digest_of(()))
_MODELS: Mapping[RowKind, Any] = {RowKind.TOOL: ToolRow, RowKind.CONNECTION: ConnectionRow, RowKind.AGENT: AgentRow}
_Key = tuple[str, RowKind, str, bytes]
_Found = tuple[Made[Any] | None, list[Problem]]
_Rows = Sequence[StoredRow]


class StoredRegistry:
    """Loads rows of the store, in any thread, one at a time."""

    def __init__(
        self, *, adapters: Mapping[str, Adapter], compile_schema: CompileSchema, builtin: Mapping[str, str]
    ) -> None:
        """`builtin` are the tools that adapters bring, by the name that problems give them; every tenant has those
        of whose name it has none itself.
        """
        self._adapters = adapters
        self._compile_schema = compile_schema
        self._builtin = dict(builtin)
        self._loading = threading.Lock()
        self._memory: _Memory | None = None
        self._held: dict[str, Catalogue] = {}
        self._last: dict[str, tuple[_Rows, Loaded]] = {}
        self._unusable: frozenset[str] = frozenset()

    @property
    def unusable(self) -> frozenset[str]:
        """The tenants whose rows, as they were loaded last, cannot be used."""
        return self._unusable

    def held(self, tenant: str) -> Catalogue:
        """What the tenant has since its rows were loaded last; nothing when they never were."""
        return self._held.get(tenant, EMPTY)

    def load(self, rows: Mapping[str, _Rows], settings: Settings) -> Loaded:
        """The registry of all these tenants. There always is a catalogue; in it a tenant whose rows have a problem
        is as it was when they had none, or has nothing.
        """
        with self._loading:
            memory = self._memory_for(settings)
            loaded = {tenant: self._of_tenant(tenant, some, memory) for tenant, some in rows.items()}
            memory.forget_unused(rows)
            self._last = {tenant: (rows[tenant], loaded[tenant]) for tenant in rows}
            self._held = {tenant: one.catalogue or self._held.get(tenant, EMPTY) for tenant, one in loaded.items()}
            self._unusable = frozenset(tenant for tenant, one in loaded.items() if one.catalogue is None)
            problems = [problem for one in loaded.values() for problem in one.problems]
            catalogue = joined(tuple(self._held.values())) if self._held else EMPTY
            return Loaded(catalogue=catalogue, problems=tuple(sorted(set(problems))))

    def check(self, tenant: str, rows: _Rows, settings: Settings) -> Loaded:
        """What would come of these rows of one tenant. Nothing is changed."""
        with self._loading:
            return self._loaded(tenant, rows, self._memory_for(settings))

    def _of_tenant(self, tenant: str, rows: _Rows, memory: "_Memory") -> Loaded:
        before = self._last.get(tenant)
        if before is not None and before[0] is rows:
            return before[1]
        return self._loaded(tenant, rows, memory)

    def _memory_for(self, settings: Settings) -> "_Memory":
        """What is remembered under these settings; nothing when they are new."""
        if self._memory is None or self._memory.maker.settings != settings:
            maker = Maker(adapters=self._adapters, settings=settings, compile_schema=self._compile_schema)
            self._memory = _Memory(maker, self._builtin)
            self._last = {}
        return self._memory

    def _loaded(self, tenant: str, rows: _Rows, memory: "_Memory") -> Loaded:
        problems: list[Problem] = []
        unread: dict[str, set[str]] = {name: set() for name in LISTS.values()}
        made: dict[RowKind, list[Any]] = {kind: [] for kind in RowKind}
        for row in rows:
            found, wrong = memory.of(tenant, row)
            problems += wrong
            if found is not None:
                made[row.kind].append(found)
            else:
                unread[LISTS[row.kind]].add(row.name)
        own = {row.name for row in rows if row.kind is RowKind.TOOL}
        brought = [one for one in memory.builtin if one.placed.row.name not in own]
        parts = Parts(
            tools=[*brought, *made[RowKind.TOOL]],
            connections=made[RowKind.CONNECTION],
            agents=made[RowKind.AGENT],
            unread=unread,
        )
        return load_parts(parts, [*problems, *memory.builtin_problems], self._adapters, tenant=tenant)


class _Memory:
    """What came of each document, under one set of settings."""

    def __init__(self, maker: Maker, builtin: Mapping[str, str]) -> None:
        self.maker = maker
        self._made: dict[_Key, _Found] = {}
        brought, problems = read_rows([], builtin)
        self.builtin = [maker.tool(one) for one in brought.tools]
        self.builtin_problems = problems

    def of(self, tenant: str, row: StoredRow) -> _Found:
        """The row as it was made, or None and why it cannot be used."""
        key = _key(tenant, row)
        if key not in self._made:
            self._made[key] = self._make(tenant, row)
        return self._made[key]

    def forget_unused(self, rows: Mapping[str, _Rows]) -> None:
        """Keep what these rows need alone."""
        used = {_key(tenant, row) for tenant, some in rows.items() for row in some}
        self._made = {key: made for key, made in self._made.items() if key in used}

    def _make(self, tenant: str, row: StoredRow) -> _Found:
        document = placed_at(row.kind, row.name, row.document)
        read, problems = parse(_MODELS[row.kind], document)
        if read is None:
            return None, problems
        # A catalogue joins all tenants: who could write another's name here would be in that one's registry.
        if (row.kind is not RowKind.TOOL and read.tenant != tenant) or read.name != row.name:
            return None, [document.problem((), "tenant", "the row is not of the tenant and name that it stands under")]
        placed: Placed[Any] = Placed(row=read, document=document, at=())
        if row.kind is RowKind.TOOL:
            return self.maker.tool(placed), problems
        if row.kind is RowKind.CONNECTION:
            return self.maker.connection(placed), problems
        return self.maker.agent(placed), problems


def _key(tenant: str, row: StoredRow) -> _Key:
    return "" if row.kind is RowKind.TOOL else tenant, row.kind, row.name, row.document
