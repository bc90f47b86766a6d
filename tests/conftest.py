"""What all tests share: an environment without network habits, and a seeded hypothesis profile."""

from hypothesis import settings

# No deadline: the machines that run this are shared, and a slow example proves nothing.
settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")
