"""MLflow as a projection of the store: written from it, rebuildable from it, never read back as the truth."""
