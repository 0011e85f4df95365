"""Reports as one HTML page each: comparisons, budgets, transcripts, audits, test sessions.

A page is one file that loads nothing, and the same input gives the same bytes. Python works out what is to be told (a dataclass for
each thing on the page), templates write it, so that every text of a stranger goes through the one escaping of the template engine.
"""
