"""Servers that nobody here wrote, for the tests of what an adapter makes of them.

Each is brought by the first test that asks for it, pinned, on loopback, and ended with the session. A test says which
operation it proves by a mark that `make vendors` counts, any number of them on one test:

    @pytest.mark.proves("github", "create_issue", "success")   # or "failure", or "paging"
    async def test_an_issue_is_there_when_it_was_created(emulate: Emulate) -> None:
        async with desk(emulate.port("github"), credential=TOKENS["github"]) as github:
            output = await github.ask("github", "create_issue", {...})

What the test was proved against is the server whose fixture it takes, by `SERVERS` of vendors/recording.py; a test
that takes none of them proves it against a server of our own. An operation that pages is one whose arguments have a
`cursor`.
"""

from collections.abc import Iterator

import pytest
from real.emulate import Emulate
from real.emulate import emulate as running_emulate
from real.httpbin import HttpBin
from real.httpbin import httpbin as running_httpbin
from real.localstripe import LocalStripe
from real.localstripe import localstripe as running_localstripe
from real.mail import MailAccount, mail_account


@pytest.fixture(scope="session")
def emulate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulate]:
    """GitHub, Slack, Google, Stripe and Linear."""
    with running_emulate(tmp_path_factory.mktemp("emulate")) as server:
        yield server


@pytest.fixture(scope="session")
def localstripe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStripe]:
    """A Stripe with refunds."""
    with running_localstripe(tmp_path_factory.mktemp("localstripe")) as server:
        yield server


@pytest.fixture(scope="session")
def httpbin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBin]:
    """Pages."""
    with running_httpbin(tmp_path_factory.mktemp("httpbin")) as server:
        yield server


@pytest.fixture(scope="session")
def mail() -> Iterator[MailAccount]:
    """An account that sends and is read."""
    with mail_account() as account:
        yield account
