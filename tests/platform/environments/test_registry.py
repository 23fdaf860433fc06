"""Environments are found by name, ours and those of other distributions."""

from pathlib import Path

import pytest

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.protocol import SPLITS
from equipoise.environments.registry import ENVIRONMENTS, environments, make_environment


def _distribution(folder: Path, name: str) -> None:
    (folder / "thirdparty.py").write_text(
        "class World:\n    def __init__(self, config, seed):\n        self.config, self.seed = config, seed\n"
    )
    info = folder / "thirdparty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[equipoise.environments]\n{name} = thirdparty:World\n")


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_environment_of_the_list_plays(name: str) -> None:
    environment = make_environment(name, {}, 1)
    words = set(environment.vocabulary())
    for split in SPLITS:
        assert environment.tasks(split) > 0
        state = environment.reset(split, 0)
        assert not state.done
        for _ in range(60):
            assert list(state.admissible) == sorted(state.admissible)
            assert set(state.observation.split()) <= words
            if state.done:
                break
            state = environment.step(state, environment.expert(state))
        assert state.won


def test_another_distribution_can_bring_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _distribution(tmp_path, "world")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert set(environments()) == {*ENVIRONMENTS, "world"}
    assert vars(make_environment("world", {"a": 1}, 2)) == {"config": {"a": 1}, "seed": 2}


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _distribution(tmp_path, "household")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EnvironmentFaultError, match="'household', a name that is taken"):
        environments()


def test_an_unknown_name_is_met_with_the_nearest() -> None:
    with pytest.raises(EnvironmentFaultError, match=r"got 'houshold'; did you mean 'household'\?"):
        make_environment("houshold")
