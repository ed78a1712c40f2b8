"""What holds for every test."""

from hypothesis import HealthCheck, settings

# No deadline: a busy machine is not a wrong answer. Time is measured by `make bench`.
settings.register_profile("tollhouse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tollhouse")
