"""Tests of the kitchens; the assertions of their shared helpers explain themselves as those of a test do."""

import pytest

pytest.register_assert_rewrite("tests.envs.overcooked.boards")
