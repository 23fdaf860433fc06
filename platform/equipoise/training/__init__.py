"""Training: TRL's trainer, fed with signed credit in a fixed order, counting what it does."""
