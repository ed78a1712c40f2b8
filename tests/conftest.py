"""What holds for every test."""

from hypothesis import settings

# No deadline: a busy machine is not a wrong answer. Time is measured by `make bench`.
settings.register_profile("tollhouse", deadline=None)
settings.load_profile("tollhouse")
