import pytest


@pytest.mark.xdist_group("together")
def test_tests_that_share_a_suite_reach_the_same_worker(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config
) -> None:
    # xdist tells groups by the end of a node's name; where it cannot write there, each worker runs every suite
    if not getattr(pytestconfig.option, "loadgroup", False):
        pytest.skip("expected a worker of `pytest -n 2 --dist loadgroup`, which `make unit` runs")
    assert request.node.nodeid.endswith("@together")
