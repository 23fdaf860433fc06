"""Credit rules as pure functions on columnar trajectories, their twins and their cards."""
