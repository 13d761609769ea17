"""Find the one query in a text that a model wrote: prose, code fences, tags, JSON, chat templates.

`read_text` reads such a text for files, live systems and the drop-in surfaces.
"""

from assay.sql.extraction.fences import clean_query
from assay.sql.extraction.messages import (
    SEVERAL_QUERIES,
    are_queries,
    completion_of,
    completion_of_record,
    is_conversation,
)
from assay.sql.extraction.objects import queries_in_json
from assay.sql.extraction.prediction import ONLY_THINKING, extracted, extraction_of, read_text, written
from assay.sql.extraction.reading import Reading, refuses
from assay.sql.extraction.templates import split_completion

__all__ = [
    "ONLY_THINKING",
    "SEVERAL_QUERIES",
    "Reading",
    "are_queries",
    "clean_query",
    "completion_of",
    "completion_of_record",
    "extracted",
    "extraction_of",
    "is_conversation",
    "queries_in_json",
    "read_text",
    "refuses",
    "split_completion",
    "written",
]
