"""The JSON Schema of a suite, for editors that complete and check YAML."""

from typing import Any

from equipoise_preregistration.suite import Suite

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """The schema (JSON Schema, draft 2020-12): types and bounds, not what sections ask of each other."""
    body = Suite.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **body,
        "title": "A suite of equipoise",
    }
