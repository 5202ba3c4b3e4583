"""Memory bound to sessions: what deployments declare, what sessions bind, what a model is given."""
