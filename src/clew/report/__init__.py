"""Whole pages and closing tables made from results; knows what an experiment measured, not how.

Start with `clew.report.recall` for the report of the memory experiment, and with `clew.report.comparison_table` for
the table that a terminal shows.
"""
