"""SMTP sessions against a real server."""

from pathlib import Path

import pytest
from fakes.smtp import smtp_server


@pytest.mark.parametrize("tls", ["starttls", "implicit", "none"])
def test_x(tmp_path: Path, tls: str) -> None:
    """x."""
    with smtp_server(tmp_path, tls) as server:
        assert server.port
