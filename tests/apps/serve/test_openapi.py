"""The OpenAPI description is that of the routes, and schemathesis finds no response that differs from it."""

import warnings

import pytest

pytest.importorskip("starlette")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from plackett.apps.serve.app import ROUTES, create_app
from plackett.apps.serve.settings import InterleaveSettings
from tests.apps.serve.conftest import open_log, service_of

RIGHT, WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
OPERATIONS = [
    (route.path, mode) for route in ROUTES for mode in (RIGHT, WRONG) if mode is RIGHT or "POST" in route.methods
]
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]
HOST = {"Host": "127.0.0.1"}


@pytest.fixture(scope="module")
def described(tmp_path_factory, rankers):
    folder = tmp_path_factory.mktemp("described")
    for name in ("linear", "trees"):
        rankers[name].save(folder / f"{name}.plackett")
    test = InterleaveSettings(("linear", "trees"))
    service = service_of(folder, "linear.plackett", "trees.plackett", log=str(folder / "log"), interleave=test)
    open_log(service)
    yield schemathesis.openapi.from_asgi("/openapi.json", create_app(service), headers=HOST)
    service.close_log()


def test_every_route_is_described_with_its_methods(described):
    paths = {path: sorted(word.upper() for word in methods) for path, methods in described.raw_schema["paths"].items()}
    assert paths == {route.path: sorted(route.methods - {"HEAD"}) for route in ROUTES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("path", "mode"), OPERATIONS)
def test_responses_are_those_of_the_description(described, path, mode):
    method = next(iter(described.raw_schema["paths"][path])).upper()

    @settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=described[path][method].as_strategy(generation_mode=mode))
    def answers(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = case.call(headers=HOST)
        case.validate_response(answer, checks=CHECKS)

    answers()
