"""Which signer the settings name."""

import io
from pathlib import Path

import pytest
from fakes.assertions import FakeTransit
from fakes.clock import START, FakeClock

from gateway.assertions.base import Signer
from gateway.assertions.key_file import FileSigner
from gateway.assertions.signers import signer_of
from gateway.assertions.transit import TransitSigner
from gateway.errors import StartError
from gateway.settings.assertions import AssertionSettings, AssertionTransitSettings, AudienceGrant
from gateway.telemetry import configure

AUDIENCES = (AudienceGrant(name="billing", hosts=("billing.corp.example",)),)


def _signer(settings: AssertionSettings, engine: FakeTransit | None) -> Signer:
    ask = engine.ask if engine is not None else None
    return signer_of(settings, engine, ask, clock=FakeClock(), log=configure("info", io.StringIO()))


def test_a_file_or_an_engine(tmp_path: Path) -> None:
    """As the settings say; a Vault that is there for other things changes nothing."""
    by_file = AssertionSettings(issuer="us", key_file=tmp_path / "k.pem", audiences=AUDIENCES)
    by_transit = AssertionSettings(issuer="us", transit=AssertionTransitSettings(), audiences=AUDIENCES)
    engine = FakeTransit(START)
    assert isinstance(_signer(by_file, None), FileSigner)
    assert isinstance(_signer(by_file, engine), FileSigner)
    assert isinstance(_signer(by_transit, engine), TransitSigner)
    with pytest.raises(StartError, match="add a vault section"):
        _signer(by_transit, None)
