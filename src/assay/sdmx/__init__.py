"""Selections of SDMX data: read them from any form, know the structures behind them, judge them term by term."""
