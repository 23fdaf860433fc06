"""A kept base policy is the one that cloning would give, and only that."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.execution import base, warm
from equipoise.execution.world import World
from equipoise_preregistration import Suite


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "base").iterdir())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(warm.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_cloning(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid(*_: Any, **__: Any) -> None:
        pytest.fail("it was cloned again")

    return lambda: monkeypatch.setattr(base, "clone", forbid)


def test_the_second_time_nothing_is_cloned_and_the_result_is_the_same(
    ran: Any, cache: Path, tmp_path: Path, no_cloning: Callable[[], None]
) -> None:
    first = ran.again("b0/base", tmp_path)
    assert first == ran.results["b0/base"], "keeping changes nothing"
    written = (tmp_path / "base.safetensors").read_bytes()
    no_cloning()
    (tmp_path / "again").mkdir()
    assert ran.again("b0/base", tmp_path / "again") == first
    assert (tmp_path / "again" / "base.safetensors").read_bytes() == written
    assert len(entries(cache)) == 1


def test_a_damaged_entry_is_made_again(ran: Any, cache: Path, tmp_path: Path) -> None:
    first = ran.again("b0/base", tmp_path)
    (entry,) = entries(cache)
    broken = bytearray((entry / "base.safetensors").read_bytes())
    broken[-1] ^= 1
    (entry / "base.safetensors").write_bytes(broken)
    assert ran.again("b0/base", tmp_path) == first
    (entry / "cloning.json").write_text("{")
    assert ran.again("b0/base", tmp_path) == first


def test_what_decides_the_bits_decides_the_entry_and_nothing_else_does(
    make_suite: Callable[..., Suite],
) -> None:
    recipes = {
        "plain": warm.recipe(World(make_suite(), 0)),
        "block": warm.recipe(World(make_suite(), 1)),
        "seed": warm.recipe(World(make_suite(seed=4), 0)),
        "policy": warm.recipe(World(make_suite(policy={"hidden": 32, "layers": 1}), 0)),
    }
    assert len(set(recipes.values())) == 4
    assert warm.recipe(World(make_suite(budget={"examples": 8, "optimizer_steps": 2}), 0)) == recipes["plain"]


def test_without_a_folder_nothing_is_kept(ran: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(warm.CACHE, raising=False)
    ran.again("b0/base", tmp_path)
    assert not list(tmp_path.rglob("cloning.json"))
