"""The one way to write a suite down: RFC 8785 with every default, so that equal suites are equal bytes."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import rfc8785

from equipoise_preregistration.suite import Suite

__all__ = ["VERSION", "canonical", "canonical_json", "digest"]

VERSION = "eq1:"
"""Prefix of every identity. What it stands for never changes: another way of hashing takes another prefix."""


def canonical(suite: Suite) -> bytes:
    """The suite in the JSON Canonicalization Scheme (RFC 8785)."""
    return canonical_json(suite.model_dump(mode="json"))


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """Any JSON mapping in canonical form."""
    return rfc8785.dumps(dict(value))


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical form, with the version of the identity."""
    return f"{VERSION}{sha256(canonical_json(value)).hexdigest()}"
