"""Plots with one of everything, as in the matrix of rights."""

from tests.authorization.conftest import committed_plots, plots  # noqa: F401 - fixtures
