"""From a registration to runs, and from runs to a judgement."""
