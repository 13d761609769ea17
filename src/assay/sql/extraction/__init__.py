"""Find the one query in a text that a model wrote: prose, code fences, JSON, thinking.

`read_text` reads such a text for files, live systems and the drop-in surfaces.
"""

from assay.sql.extraction.fences import clean_query, without_thinking
from assay.sql.extraction.objects import queries_in_json
from assay.sql.extraction.reading import Reading, extracted, read_text, refuses, written

__all__ = [
    "Reading",
    "clean_query",
    "extracted",
    "queries_in_json",
    "read_text",
    "refuses",
    "without_thinking",
    "written",
]
