"""Checkpoints in the database: a note for each tenant, in which every replica that writes for it is listed."""

from collections.abc import Sequence

from adapters.base import Clock
from gateway.audit.chain import Link
from gateway.audit.checkpointing import NotKept
from gateway.audit.checkpoints import Checkpoint, Stand, merged, parse, text_of
from gateway.audit.lines import Standing
from gateway.audit.notes import BadNote, VerificationKey, notes_in, signer_of
from gateway.audit.signing import Signer
from gateway.clock import rfc3339
from gateway.store.checkpoints import Kept, keep, latest
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused

TRIES = 5
"""How often a number that another replica took first is replaced by the next."""


class StoreKeeper:
    """`Keeper` in the table `audit_checkpoints`. A tenant's rows speak of that tenant alone."""

    name = "store"

    def __init__(
        self, database: Database, signer: Signer, clock: Clock, trusted: Sequence[VerificationKey] = ()
    ) -> None:
        """What `trusted` keys, or the signer's own, have signed of other writers is carried on."""
        self._database = database
        self._signer = signer
        self._clock = clock
        self._trusted = tuple(trusted)
        self._kept: dict[str, Link] = {}

    async def keep(self, standing: Standing) -> None:
        """A note for each tenant that something was written for since. A tenant that fails keeps no other from its."""
        failed = 0
        problem = ""
        for tenant, link in standing.tenants.items():
            if self._kept.get(tenant) == link:
                continue
            try:
                await self._keep(tenant, Stand(standing.writer, tenant, *link))
                self._kept[tenant] = link
            except (StoreDown, StoreRefused, BadNote) as error:
                failed, problem = failed + 1, problem or str(error)
        if failed:
            raise NotKept(f"{failed} tenant{'' if failed == 1 else 's'} without a checkpoint: {problem}")

    async def _keep(self, tenant: str, stand: Stand) -> None:
        for attempt in range(1, TRIES + 1):
            async with self._database.tenant(tenant, is_read=True) as session:
                before = await latest(session)
            number = before.number + 1 if before is not None else 1
            note = await self._note(number, merged(self._known(before), stand))
            try:
                async with self._database.tenant(tenant) as session:
                    await keep(session, number, note, self._clock.now())
            except StoreRefused:
                if attempt == TRIES:
                    raise
            else:
                return

    async def _note(self, number: int, stands: tuple[Stand, ...]) -> bytes:
        time = rfc3339(self._clock.now())
        text = text_of(Checkpoint(origin=self._signer.key.name, number=number, time=time, stands=stands))
        (note,) = await self._signer.sign([text])
        return str(note).encode()

    def _known(self, before: Kept | None) -> tuple[Stand, ...]:
        """What the last note says. Raises `BadNote` when nobody whom we trust has signed it: to carry on what
        somebody wrote into the table would be to vouch for it.
        """
        if before is None:
            return ()
        note = next(notes_in(before.note.decode("utf-8", "replace")), None)
        key = signer_of(note, (self._signer.key, *self._trusted)) if note is not None else None
        if note is None or key is None:
            raise BadNote("the last note in the store is signed by no key that the settings trust")
        return parse(note.text, key.name).stands
