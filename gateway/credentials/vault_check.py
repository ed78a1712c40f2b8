"""What is wrong with the `vault:` references of a registry, found before the first call needs them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from gateway.clients.vault_answers import SecretPlace, Trouble, VaultFailed
from gateway.credentials.vault_cache import SecretCache
from gateway.credentials.vault_places import Places, VaultPlace
from gateway.references import BadReference, parse_reference

EngineVersion = Callable[[SecretPlace], Awaitable[int | None]]


class VaultReport(NamedTuple):
    """What was found. `problems` are mistakes in references, mounts or rights, one sentence each, for operators:
    they hold the reference and never a value. `warnings` say why something could not be found out.
    """

    problems: tuple[str, ...]
    warnings: tuple[str, ...]


async def examine(
    references: Iterable[tuple[str, str]], places: Places, cache: SecretCache, engine_version: EngineVersion
) -> VaultReport:
    """Read each secret, and say in plain words why one cannot be read. Raises nothing.

    A server that cannot be asked is nobody's mistake: the first such failure is a warning and ends the check.
    """
    problems: list[str] = []
    for tenant, text in dict.fromkeys(references):
        if not text.startswith("vault:"):
            continue
        try:
            problem = await _problem(tenant, text, places, cache, engine_version)
        except VaultFailed as failed:
            warning = f"vault: references are not checked: {failed}"
            return VaultReport(tuple(problems), (warning,))
        if problem:
            problems.append(f"{text} (tenant {tenant}): {problem}")
    return VaultReport(tuple(problems), ())


async def _problem(tenant: str, text: str, places: Places, cache: SecretCache, engine_version: EngineVersion) -> str:
    """Empty when the reference resolves. Raises `VaultFailed` when that cannot be told."""
    try:
        place = places.find(tenant, parse_reference(text).name)
    except BadReference as error:
        return str(error)
    if place is None:
        return "no mount of the settings is the beginning of it; name the KV engine under vault.mounts"
    try:
        held = await cache.get(place.secret, place.field)
    except VaultFailed as failed:
        if not _is_answer(failed.trouble):
            raise
        trouble = failed.trouble
    else:
        return "" if isinstance(held.values.get(place.field), str) else "the secret has no such field that holds text"
    return await _explained(place, trouble, engine_version)


def _is_answer(trouble: Trouble) -> bool:
    """Whether a server said something about this secret, and not about us or itself."""
    return trouble in (Trouble.ABSENT, Trouble.DELETED, Trouble.DENIED, Trouble.REJECTED)


async def _explained(place: VaultPlace, trouble: Trouble, engine_version: EngineVersion) -> str:
    """A server gives a secret that is not there, a wrong engine version and `data/` too much the same answer."""
    secret = place.secret
    try:
        actual = await engine_version(secret)
    except VaultFailed as failed:
        if not _is_answer(failed.trouble):
            raise
        return f"the login may use nothing in the mount {secret.mount!r}, or there is no such mount"
    if actual is None:
        return f"{secret.mount!r} is not where a KV engine is mounted; vault.mounts names the wrong path"
    if actual != secret.version:
        return f"the KV engine at {secret.mount!r} is version {actual}, and the settings say {secret.version}"
    if secret.version == 2 and secret.path.split("/")[0] in ("data", "metadata"):
        first, _, rest = secret.path.partition("/")
        return f"leave out {first}/, which belongs to the API: vault:{secret.mount}/{rest}#{place.field}"
    return _plain(trouble)


def _plain(trouble: Trouble) -> str:
    if trouble is Trouble.DELETED:
        return "the secret's newest version was deleted"
    if trouble is Trouble.ABSENT:
        return "there is no such secret"
    return "the login has no right to read it; a policy must allow it"
