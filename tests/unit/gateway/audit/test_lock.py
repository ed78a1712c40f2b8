"""One gateway per state directory."""

from pathlib import Path

import pytest

from gateway.audit.lock import StateLock
from gateway.errors import StartError


def test_a_second_gateway_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    """The message says what to do; releasing twice is harmless."""
    first = StateLock(tmp_path)
    with pytest.raises(StartError, match="stop it, or give this one a state_dir of its own"):
        StateLock(tmp_path)
    first.release()
    first.release()
    StateLock(tmp_path).release()
