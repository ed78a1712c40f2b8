"""What keeps secrets: where credentials come from, what seals, who signs. A Vault may be behind all of it."""

import os
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from adapters.base import Clock
from gateway.assertions.issuing import Assertions
from gateway.assertions.signers import signer_of
from gateway.audit.signing import FileSigner, Signer, TransitSigner
from gateway.clients.vault import VaultClient
from gateway.credentials.base import Lender, Source
from gateway.credentials.env import EnvSource
from gateway.credentials.file import FileSource
from gateway.credentials.vault import VaultSource
from gateway.deployment import Startable
from gateway.errors import StartError
from gateway.metrics.gauges import VaultState
from gateway.registry.catalogue import Catalogue
from gateway.sealing.key_file import KeyFileSeal
from gateway.sealing.own_key import OwnKeySeal
from gateway.sealing.transit import TransitSeal
from gateway.settings.load import Settings
from gateway.telemetry import Log

SEAL_KEY = "seal.key"
"""In the state directory, where no other key is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrecy:
    """All of it, not started yet."""

    sources: Mapping[str, Source] = field(repr=False)
    lenders: Mapping[str, Lender] = field(repr=False)
    seal: KeyFileSeal | TransitSeal = field(repr=False)
    signer: Signer | None = field(repr=False)
    assertions: Assertions | None = field(repr=False)
    """Who signs for internal services who calls, where the settings name somebody."""
    vault: Callable[[], VaultState] | None
    """How the vault stands, where there is one."""
    startable: tuple[Startable, ...] = field(repr=False)
    """In order: who asks the vault comes after it."""
    against: Callable[[Catalogue], Awaitable[tuple[str, ...]]] = field(repr=False)
    """What speaks against a registry's references, one sentence each."""


def secrecy_of(settings: Settings, clock: Clock, log: Log) -> Secrecy:
    """What these settings name. Raises `StartError` for what cannot be without something that they do not name."""
    client = _vault_client(settings)
    vault = _vault(settings, client, clock)
    seal = _seal(settings, client, vault, clock)
    assertions = _assertions(settings, client, vault, clock, log)
    keepers = _keepers(settings, vault, clock)
    return Secrecy(
        sources=keepers.sources,
        lenders=keepers.lenders,
        seal=seal,
        signer=_signer(settings, client, vault),
        assertions=assertions,
        vault=_vault_state(vault) if vault is not None else None,
        startable=tuple(part for part in (vault, seal, assertions) if part is not None),
        against=lambda catalogue: _vault_against(catalogue, vault, log),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keepers:
    """Where credentials come from, and what of it has to be started first."""

    sources: Mapping[str, Source] = field(repr=False)
    lenders: Mapping[str, Lender] = field(repr=False)
    startable: tuple[Startable, ...] = field(repr=False)


def keepers_of(settings: Settings, clock: Clock) -> Keepers:
    """Those of these settings alone, for whoever neither seals nor signs."""
    return _keepers(settings, _vault(settings, _vault_client(settings), clock), clock)


def _keepers(settings: Settings, vault: VaultSource | None, clock: Clock) -> Keepers:
    sources: dict[str, Source] = {"env": EnvSource(os.environ), "file": FileSource(clock.monotonic)}
    lenders: dict[str, Lender] = {}
    if vault is not None:
        sources["vault"] = vault
        lenders |= {"vault-dynamic": vault} if settings.vault and settings.vault.dynamic else {}
    return Keepers(sources=sources, lenders=lenders, startable=() if vault is None else (vault,))


def _vault_client(settings: Settings) -> VaultClient | None:
    vault = settings.vault
    if vault is None:
        return None
    return VaultClient(
        vault.addresses,
        namespace=vault.namespace,
        ca_file=vault.ca_file,
        timeout_seconds=vault.timeout_ms / 1000,
    )


def _vault(settings: Settings, client: VaultClient | None, clock: Clock) -> VaultSource | None:
    if settings.vault is None or client is None:
        return None
    return VaultSource(settings.vault, client, clock=clock, chance=random.random)


def _seal(
    settings: Settings, client: VaultClient | None, vault: VaultSource | None, clock: Clock
) -> KeyFileSeal | TransitSeal:
    """What is kept may be private: replicas that share a store need one key."""
    sealing = settings.sealing
    if sealing.transit is not None:
        if client is None or vault is None:
            raise StartError("sealing by transit needs to know where the Vault is; add a vault section")
        return TransitSeal(sealing.transit, client, vault.session.ask, clock.monotonic)
    if sealing.key_file is not None:
        return KeyFileSeal(sealing.key_file, clock.monotonic)
    if not settings.database.is_sqlite:
        message = "replicas that share a store need one key to seal with; name sealing.key_file or sealing.transit"
        raise StartError(message)
    return OwnKeySeal(settings.state_dir / SEAL_KEY, clock.monotonic)


def _signer(settings: Settings, client: VaultClient | None, vault: VaultSource | None) -> Signer | None:
    """Who signs checkpoints; None when nobody is to."""
    wanted = settings.audit.checkpoints
    if wanted is None:
        return None
    if wanted.key_file is not None:
        return FileSigner(wanted.key_file)
    assert wanted.transit is not None
    if client is None or vault is None:
        raise StartError("signing checkpoints by transit needs to know where the Vault is; add a vault section")
    transit = wanted.transit
    return TransitSigner(vault.session, client, mount=transit.mount, key=transit.key, name=transit.name)


def _assertions(
    settings: Settings, client: VaultClient | None, vault: VaultSource | None, clock: Clock, log: Log
) -> Assertions | None:
    wanted = settings.assertions
    if wanted is None:
        return None
    ask = vault.session.ask if vault is not None else None
    signer = signer_of(wanted, client, ask, clock=clock, log=log)
    return Assertions(wanted, signer, clock=clock, log=log, new_id=lambda: secrets.token_hex(16))


def _vault_state(vault: VaultSource) -> Callable[[], VaultState]:
    def state() -> VaultState:
        status = vault.status()
        return VaultState(
            is_up=status.is_up,
            token_seconds=status.token_seconds_left,
            leases_held=status.leases.held,
            leases_to_revoke=status.leases.to_revoke,
        )

    return state


async def _vault_against(catalogue: Catalogue, vault: VaultSource | None, log: Log) -> tuple[str, ...]:
    """Each reference is looked at. A Vault that cannot be asked is a warning: calls will say so."""
    references = [
        (one.tenant, reference)
        for one in catalogue.connections
        for reference in (one.credential, one.webhook_secret)
        if reference
    ]
    if vault is None:
        is_missing = any(reference.startswith(("vault:", "vault-dynamic:")) for _, reference in references)
        sentence = "a connection's credential is in Vault, and the settings have no vault section; add one"
        return (sentence,) if is_missing else ()
    report = await vault.check(references)
    for warning in report.warnings:
        log.event("vault_unchecked", "warning", problem=warning)
    return report.problems
