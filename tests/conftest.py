"""The Hypothesis profile; shared code is in helpers.py and beliefs/conformance.py."""

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.helpers", "tests.beliefs.conformance")

settings.register_profile("uncubed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("uncubed")
