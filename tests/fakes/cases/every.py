"""Every case: a list that somebody wrote."""

from fakes.cases import calendar, github, linear, plain, posthog, sentry, slack, stripe
from fakes.cases.base import ApiCase, Case

_VENDORS = (plain, calendar, github, linear, posthog, sentry, slack, stripe)
CASES: tuple[Case, ...] = tuple(case for vendor in _VENDORS for case in vendor.CASES)
API_CASES: tuple[ApiCase, ...] = tuple(case for case in CASES if isinstance(case, ApiCase))
