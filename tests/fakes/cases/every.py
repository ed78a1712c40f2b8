"""Every case: a list that somebody wrote."""

from fakes.cases import calendar, email, github, linear, plain, posthog, sentry, slack, stripe, web
from fakes.cases.base import ApiCase, Case

_VENDORS = (plain, calendar, email, github, linear, posthog, sentry, slack, stripe, web)
CASES: tuple[Case, ...] = tuple(case for vendor in _VENDORS for case in vendor.CASES)
API_CASES: tuple[ApiCase, ...] = tuple(case for case in CASES if isinstance(case, ApiCase))
