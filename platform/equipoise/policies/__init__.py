"""Policies: a causal language model that decides under a trie of admissible commands."""
