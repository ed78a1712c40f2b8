"""Every fault suite, in the order in which they run."""

from faults.suites.approvals import ApprovalSuite
from faults.suites.audit import AuditSuite
from faults.suites.idempotency import IdempotencySuite
from faults.suites.kill import KillSuite
from faults.suites.matrix import MatrixSuite
from faults.suites.suite import Suite
from faults.suites.tenancy import TenancySuite

SUITES: tuple[Suite, ...] = (
    KillSuite(),
    MatrixSuite(),
    IdempotencySuite(),
    ApprovalSuite(),
    TenancySuite(),
    AuditSuite(),
)
