"""Suites and their registrations: the YAML model, the canonical form and the hash chain."""
