"""The gateway's own token for a vault: got, kept alive and replaced, and never by asking in a loop."""

import asyncio
import contextlib
from collections.abc import Callable

from adapters.base import Clock
from gateway.background import end
from gateway.clients.vault import VaultClient
from gateway.clients.vault_answers import Trouble, VaultFailed, VaultToken
from gateway.credentials.vault_proof import Material, proof_of
from gateway.settings.vault import VaultAuth
from gateway.watched import FileUnusable

FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS = 30.0, 900.0
"""After a login that was refused. Five of them lock the role, for a quarter of an hour and for everybody."""
IN_VAIN_SECONDS = 30.0
RETRY_SECONDS = 0.25
KEEP_RETRY_SECONDS = 1.0
_LEAST_SECONDS = 0.1
_UNKNOWN_SECONDS = 60.0


class Login:
    """Holds one token. Use it on one loop."""

    def __init__(self, auth: VaultAuth, client: VaultClient, *, clock: Clock, chance: Callable[[], float]) -> None:
        """`chance` gives numbers from 0 to 1: a token is renewed when 55 to 75 % of its time are over."""
        self._proof = proof_of(auth, clock.monotonic)
        self._client = client
        self._clock = clock
        self._chance = chance
        self._lock = asyncio.Lock()
        self._backoff = _Backoff(clock.monotonic)
        self._token: VaultToken | None = None
        self._ends_at = 0.0
        self._granted_seconds = 0.0
        self._no_other_before = float("-inf")
        self._keeper: asyncio.Task[None] | None = None

    async def token(self) -> str:
        """The token to use now. Raises `VaultFailed`."""
        if self._is_usable() and self._token:
            return self._token.value
        async with self._lock:
            if not self._is_usable() or not self._token:
                return await self._log_in()
            return self._token.value

    async def token_instead_of(self, denied: str) -> str | None:
        """Another token, when the server's no was for the token; None when it was for what was asked.

        The server says the same in both cases, so it is asked about the token. Raises `VaultFailed`.
        """
        async with self._lock:
            if self._token is not None and self._token.value != denied and self._is_usable():
                return self._token.value
            if not self._proof.is_ours or self._clock.monotonic() < self._no_other_before:
                return None
            if not await self._is_dead(denied):
                return None
            self._token = None
            return await self._log_in()

    def holds(self, token: str) -> bool:
        """Whether this is the token that would be used now."""
        try:
            return self._is_usable() and self._token is not None and self._token.value == token
        except VaultFailed:
            return False

    def was_in_vain(self) -> None:
        """A new token was denied the same: for a while a no is not taken for the token's end."""
        self._no_other_before = self._clock.monotonic() + IN_VAIN_SECONDS

    def seconds_left(self) -> float | None:
        """How long the token lasts if nobody renews it; None when there is none or it does not end."""
        if self._token is None or not self._token.seconds:
            return None
        return max(0.0, self._ends_at - self._clock.monotonic())

    async def stop(self) -> None:
        """Forget the token and renew it no more."""
        keeper, self._keeper, self._token = self._keeper, None, None
        await end(keeper)

    def _is_usable(self) -> bool:
        """Whether the token at hand may be sent. One from a file is as good as the file."""
        if self._token is None:
            return False
        if not self._proof.is_ours:
            return self._material() == (self._token.value,)
        return self._clock.monotonic() < self._ends_at

    def _material(self) -> Material:
        with contextlib.suppress(FileUnusable):
            return self._proof.material()
        raise VaultFailed(Trouble.NO_PROOF)

    async def _log_in(self) -> str:
        material = self._material()
        self._backoff.check(material)
        if self._backoff.is_in_doubt:
            await self._ping()
        began = self._clock.monotonic()
        try:
            token = await self._proof.log_in(self._client, material)
        except VaultFailed as failed:
            self._backoff.fail(material, failed.trouble)
            raise
        self._backoff.succeed()
        self._granted_seconds = token.seconds
        self._accept(token, began)
        self._keep_alive()
        return token.value

    async def _ping(self) -> None:
        """A login that nobody answered may have used up a secret id; the next one waits for a server that answers."""
        try:
            await self._client.ping()
        except VaultFailed:
            self._backoff.wait(RETRY_SECONDS)
            raise

    def _accept(self, token: VaultToken, began: float) -> None:
        self._token = token
        self._ends_at = began + token.seconds if token.seconds else float("inf")

    async def _is_dead(self, token: str) -> bool:
        try:
            await self._client.look_up(token)
        except VaultFailed as failed:
            if failed.trouble is Trouble.DENIED:
                return True
            raise
        return False

    def _keep_alive(self) -> None:
        if self._keeper is asyncio.current_task():
            return
        if self._keeper is not None:
            self._keeper.cancel()
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(self._renewal_seconds())
            while not await self._is_renewed():
                await self._clock.sleep(KEEP_RETRY_SECONDS)

    def _renewal_seconds(self) -> float:
        seconds = self._token.seconds if self._token else 0.0
        return max(_LEAST_SECONDS, seconds * (0.55 + 0.2 * self._chance())) if seconds else _UNKNOWN_SECONDS

    async def _is_renewed(self) -> bool:
        """Whether the token lasts longer now; callers use the one at hand until then."""
        async with self._lock:
            try:
                await self._renew()
            except Exception:  # noqa: BLE001 - whoever keeps the token alive must go on; what broke may hold it
                return False
            return True

    async def _renew(self) -> None:
        """1. A token from a file is somebody else's to renew: see how long it lasts now. 2. One that cannot be
        renewed, is dead, or comes to its last end soon: log in. 3. Renew.
        """
        token, began = self._token, self._clock.monotonic()
        if token is None or not self._proof.is_ours:
            await self._look_again()
        elif not token.is_renewable or not await self._has_gained(token, began):
            await self._log_in()

    async def _look_again(self) -> None:
        began, material = self._clock.monotonic(), self._material()
        self._accept(await self._proof.log_in(self._client, material), began)

    async def _has_gained(self, token: VaultToken, began: float) -> bool:
        """Whether renewing gave the token as long as it had at first; a server that caps it just gives less."""
        if not token.seconds:
            return True
        try:
            renewed = await self._client.renew(token.value)
        except VaultFailed as failed:
            if failed.trouble.may_be_stale:
                raise
            return False
        self._accept(renewed, began)
        return renewed.seconds >= 0.9 * self._granted_seconds


class _Backoff:
    """Whether a login may be tried. A refused one is not tried again with the same material for a long time."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._material: Material = ()
        self._trouble = Trouble.LOGIN_DENIED
        self._until = float("-inf")
        self._seconds = 0.0
        self.is_in_doubt = False

    def check(self, material: Material) -> None:
        """Raises `VaultFailed`, as the last login did, when it is too early."""
        if material != self._material:
            self.succeed()
        elif self._monotonic() < self._until:
            raise VaultFailed(self._trouble)

    def succeed(self) -> None:
        """The next may be tried at once."""
        self._until, self._seconds, self.is_in_doubt = float("-inf"), 0.0, False

    def fail(self, material: Material, trouble: Trouble) -> None:
        """A login has failed. One that timed out may have used up a secret id: each comes later than the last."""
        first, last = _delays_after(trouble)
        self._material, self._trouble = material, trouble
        self._seconds = min(max(self._seconds * 2, first), last)
        self.is_in_doubt = trouble.may_be_stale
        self.wait(self._seconds)

    def wait(self, seconds: float) -> None:
        """Not before so many seconds from now."""
        self._until = self._monotonic() + seconds


def _delays_after(trouble: Trouble) -> tuple[float, float]:
    """The first and the longest."""
    if not trouble.may_be_stale:
        return FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS
    return RETRY_SECONDS, FIRST_BACKOFF_SECONDS if trouble is Trouble.TIMEOUT else 1.0
