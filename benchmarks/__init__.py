"""Measurements of speed: ``python -m benchmarks --help``, or ``make bench`` for all of them."""
