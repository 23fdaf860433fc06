"""Suites and their registrations: the YAML model, the canonical form and the hash chain."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise_preregistration.canon import canonical as canonical
    from equipoise_preregistration.chain import verify_chain as verify_chain
    from equipoise_preregistration.errors import ChainError as ChainError
    from equipoise_preregistration.errors import NotRegisteredError as NotRegisteredError
    from equipoise_preregistration.errors import SuiteError as SuiteError
    from equipoise_preregistration.json_schema import schema as schema
    from equipoise_preregistration.loading import LoadedSuite as LoadedSuite
    from equipoise_preregistration.loading import load_suite as load_suite
    from equipoise_preregistration.loading import parse_suite as parse_suite
    from equipoise_preregistration.registration import Registration as Registration
    from equipoise_preregistration.registry import find_registration as find_registration
    from equipoise_preregistration.registry import register as register
    from equipoise_preregistration.registry import registrations as registrations
    from equipoise_preregistration.seeds import derive_seed as derive_seed
    from equipoise_preregistration.seeds import generator as generator
    from equipoise_preregistration.shipped import shipped_suites as shipped_suites
    from equipoise_preregistration.suite import Suite as Suite

_HOMES = {
    "ChainError": "errors",
    "LoadedSuite": "loading",
    "NotRegisteredError": "errors",
    "Registration": "registration",
    "Suite": "suite",
    "SuiteError": "errors",
    "canonical": "canon",
    "derive_seed": "seeds",
    "find_registration": "registry",
    "generator": "seeds",
    "load_suite": "loading",
    "parse_suite": "loading",
    "register": "registry",
    "registrations": "registry",
    "schema": "json_schema",
    "shipped_suites": "shipped",
    "verify_chain": "chain",
}
"""Each public name and the module it lives in, imported at first use: the command line starts without it."""

__all__ = [
    "ChainError",
    "LoadedSuite",
    "NotRegisteredError",
    "Registration",
    "Suite",
    "SuiteError",
    "canonical",
    "derive_seed",
    "find_registration",
    "generator",
    "load_suite",
    "parse_suite",
    "register",
    "registrations",
    "schema",
    "shipped_suites",
    "verify_chain",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
