"""Operations of vendors whose API is no JSON over HTTP."""

from adapters.base import Target
from fakes.cases.base import Case


def _mailbox(port: int) -> Target:
    options = {"host": "127.0.0.1", "port": port, "tls": "none", "username": "bot", "from": "bot@corp.example"}
    return Target(name="mail", hosts=("127.0.0.1",), options=options)


CASES = (
    Case("web", "fetch", lambda port: {"url": f"http://127.0.0.1:{port}/?q=1"}),
    Case("web", "extract", lambda port: {"url": f"http://127.0.0.1:{port}/"}),
    Case("email", "send", lambda _: {"to": ["ann@corp.example"], "subject": "Hi", "text": "Hello"}, _mailbox),
    Case("clock", "now", lambda _: {"zone": "UTC"}, connects=False),
)
