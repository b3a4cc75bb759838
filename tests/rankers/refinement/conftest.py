"""Lists with names and the judgements of three documents each."""

import pytest

from tests.rankers.refinement.refined_lists import judge_first_three, make_named_queries


@pytest.fixture(scope="module")
def data():
    return make_named_queries()


@pytest.fixture(scope="module")
def feedback(data):
    return judge_first_three(data)
