"""Seeds follow from names alone."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from equipoise_preregistration import derive_seed, generator

NAMES = st.lists(st.one_of(st.integers(), st.text(max_size=8)), max_size=4)


def test_a_seed_is_the_start_of_a_hash_of_its_names() -> None:
    first8 = sha256(b"eq1:i1:7s5:blocki1:3").digest()[:8]
    assert derive_seed(7, "block", 3) == int.from_bytes(first8, "big") >> 11


def test_seeds_never_change_between_versions() -> None:
    assert derive_seed(0) == 8925758419604200
    assert derive_seed(0, "block", 0) == 4301838512449983


@given(st.integers(0, 2**53 - 1), NAMES, NAMES)
def test_other_names_give_another_seed(seed: int, names: list[str | int], others: list[str | int]) -> None:
    same = [(type(name), name) for name in names] == [(type(name), name) for name in others]
    assert (derive_seed(seed, *names) == derive_seed(seed, *others)) == same


def test_names_do_not_run_into_each_other() -> None:
    assert derive_seed(0, "a", "bc") != derive_seed(0, "ab", "c")
    assert derive_seed(0, 1) != derive_seed(0, "1")
    assert derive_seed(1, 2) != derive_seed(12)


def test_a_generator_repeats_itself_whatever_was_drawn_elsewhere() -> None:
    first = generator(5, "collect", 1).random(4).tolist()
    generator(5, "other").random(100)
    assert generator(5, "collect", 1).random(4).tolist() == first
