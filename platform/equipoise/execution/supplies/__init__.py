"""What rules can be given beyond the trajectories, measured with the block's own policy and paid for."""
