"""What a worker does: collect, assign credit, train, evaluate."""
