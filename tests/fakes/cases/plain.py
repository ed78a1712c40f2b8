"""Operations of vendors whose API is no JSON over HTTP."""

from fakes.cases.base import Case

CASES = (
    Case("web", "fetch", lambda port: {"url": f"http://127.0.0.1:{port}/?q=1"}),
    Case("web", "extract", lambda port: {"url": f"http://127.0.0.1:{port}/"}),
    Case("clock", "now", lambda _: {"zone": "UTC"}, connects=False),
)
