"""Say which source files have no test file, and exit with 1 when there are any.

A source file `gateway/x/y.py` is tested in `tests/unit/gateway/x/test_y.py`. Contracts (`base.py` of a
step) are tested by the suites in `tests/contract/`, which name what they run over; the contracts of the path as a
whole by its own tests.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
ELSEWHERE = {
    "adapters/mcp_upstream/base.py": "tests/contract/test_made_operations.py",
    "gateway/approvals/base.py": "tests/contract/test_approvals.py",
    "gateway/audit/base.py": "tests/contract/test_sink.py",
    "gateway/audit/outlets/base.py": "tests/contract/test_outlet.py",
    "gateway/budget/base.py": "tests/contract/test_budget.py",
    "gateway/credentials/base.py": "tests/contract/test_credentials.py",
    "gateway/idempotency/base.py": "tests/contract/test_keys.py",
    "gateway/identity/base.py": "tests/contract/test_identity.py",
    "gateway/parts.py": "tests/unit/gateway/test_pipeline.py",
    "gateway/policy/base.py": "tests/contract/test_policy_engine.py",
    "gateway/ratelimit/base.py": "tests/contract/test_limiter.py",
}


def test_file_of(source: pathlib.Path) -> pathlib.Path:
    """Where the tests of a source file are."""
    relative = source.relative_to(ROOT)
    if str(relative) in ELSEWHERE:
        return ROOT / ELSEWHERE[str(relative)]
    return ROOT / "tests" / "unit" / relative.parent / f"test_{relative.name}"


def main() -> None:
    """Compare the two trees."""
    sources = [
        path
        for package in ("gateway", "adapters")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "v1" not in path.parts and path.read_text().strip()
    ]
    missing = [(source, test_file_of(source)) for source in sources if not test_file_of(source).exists()]
    for source, test in missing:
        print(f"{source.relative_to(ROOT)}: no {test.relative_to(ROOT)}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
