"""What holds for every test."""

import signal

from hypothesis import HealthCheck, settings

# Whoever starts the tests in the background leaves SIGINT ignored to them, and to every process that they start
# and then interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a busy machine is not a wrong answer. Time is measured by `make bench`.
settings.register_profile("tollhouse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tollhouse")
