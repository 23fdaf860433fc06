"""One file a family of credit rules."""
