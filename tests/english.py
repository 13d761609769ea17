"""What plain English avoids: patterns of wording, each with an example and what to write instead.

`faults` finds them in one text. The patterns are about habits, not about taste: a sentence that one of them finds reads
as a translation, or uses a word of daily life for which the field has a term.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PLACES = (
    "address|branch|case|cell|character|clause|column|database|directory|example|field|file|folder|line|list|machine|node|object|page|part"
    "|place|point|position|process|quer(?:y|ie)|question|row|run|section|sentence|table|text|word"
)
"""What something can be in, so that a clause with "where" may follow."""
ASKS = r"ask|check|decide|describe|determine|find|from|know|knew|learn|say|said|see|show|tell|of"
"""What an indirect question can follow: "shows where the file is"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A pattern to avoid, what to write instead, and a sentence with it."""

    name: str
    pattern: re.Pattern[str]
    instead: str
    example: str


def _wording(name: str, pattern: str, instead: str, example: str) -> Wording:
    return Wording(name=name, pattern=re.compile(pattern), instead=instead, example=example)


_START = r"(?:^|(?<=[.;:] )|(?<=\n))"
WORDINGS = (
    _wording(
        "is no",
        r"(?i)(?<!there )\b(?:is|are|was|were|be|been|being) no "
        r"(?!longer\b|more\b|less\b|fewer\b|better\b|worse\b|wider\b|higher\b|lower\b|doubt\b|\W)",
        "'is not a …', 'invalid …'",
        "runs/a is no run",
    ),
    _wording(
        "Of …",
        rf"{_START}Of (?!(?:the |these |those |all )?(?:\d|\{{|(?!a)\w )|(?:these|those|several|two)\b)",
        "'Worksheet to read'",
        "Of a workbook.",
    ),
    _wording(
        "a … for per",
        r"(?i)\b(?:one|two|verdicts?|lines?|rows?|reasons?|seconds?|minutes?|calls?|requests?|process(?:es)?|threads?)"
        r" an? (?:core|case|line|file|node|worker|question|query|row|run|database|system|metric)\b(?=[.,;:)]|$)",
        "'per …'",
        "one a core",
    ),
    _wording("anew", r"(?i)\b(?:anew|afresh)\b", "'again', or re-score, re-read", "judged anew"),
    _wording("beside", r"(?i)(?<!-)\bbeside\b(?!:)", "'next to', 'with', 'besides'", "the file beside it"),
    _wording(
        "part from",
        r"(?i)(?<!-)\bparted\b|\b(?:that|which|may|can|would|not|to) parts? (?!of\b)"
        r"|\bparts? (?:it|them|two|the two|these|those|both|one)\b[^.]{0,50}\bfrom\b"
        r"|\b(?:told|tells?|telling) [^.]{0,30}\bapart\b",
        "'distinguish', 'differ'; a counterexample",
        "a database that parts two queries",
    ),
    _wording("whichever", r"(?i)\b(?:whichever|whoever|whosoever)\b", "name what it is", "whichever it is"),
    _wording("what came of", r"(?i)\bwhat (?:came|comes|became) of\b", "'result of'", "what came of looking"),
    _wording("nobody", r"(?i)\bnobody\b", "passive voice, or 'not …'", "where nobody looked"),
    _wording(
        "so many", r"(?i)\bso (?:many|much)(?! of\b| \w+ that\b| that\b)\b", "a number N", "the first so many cases"
    ),
    _wording("at hand", r"(?i)\bat hand\b", "'available'", "no server is at hand"),
    _wording(
        "of which",
        r"(?i)(?<!\bone )(?<!\beach )(?<!\bmost )(?<!\bsome )(?<!\bany )(?<!\bnone )(?<!\bseveral )"
        r"\bof wh(?:ich|ose|om)\b",
        "'whose', or two sentences",
        "40 cases, of which 3 fail",
    ),
    _wording("mend", r"(?i)\b(?:un)?mend(?:s|ed|ing)?\b", "'fix', 'repair'", "what mends it"),
    _wording(
        "bookish",
        r"(?i)\b(?:thereby|therein|thereof|hereby|whence|whereby|wherein|lest|whilst)\b",
        "plain words",
        "and thereby fails",
    ),
    _wording("befall", r"(?i)\b(?:befalls?|befell|befallen)\b", "'happen', 'fail'", "what befell it"),
    _wording("luck", r"(?i)\b(?:luck|lucky|luckily)\b", "'chance match'", "right by luck"),
    _wording("in no rate", r"(?i)\bin no rate\b", "'excluded', 'unscored'", "1 case is in no rate"),
    _wording("trouble", r"(?i)\btroubles?\b", "'failure', 'error'", "trouble that may pass"),
    _wording("lay out", r"(?i)\b(?:lays?|laid|laying) out\b", "'format', 'arrange'", "laid out in rows"),
    _wording("fault of", r"(?i)\bwhose fault\b|\bto blame\b|\bblamed\b", "attribution", "whose fault it is"),
    _wording(
        "alive",
        r"(?i)\b(?:quer(?:y|ies)|answers?|gold|predictions?)\b (?:die[sd]?|doubts?|lends?|leaves? its)\b|\bdied of\b",
        "queries fail, gold queries are ambiguous",
        "the query died of it",
    ),
    _wording("golds", r"(?i)\bgolds\b(?!-)", "'gold queries', 'gold results'", "two golds"),
    _wording(
        "gold",
        r"(?<![-@\w.])(?<!AS )[Gg]old(?:'s\b|(?=[.,;?!](?!\w)|$|\)| (?:is|are|was|has|had|does|do|did|can|could|may"
        r"|might|must|itself|too|also|(?:and|or)(?! (?:the )?(?:predicted|generated|predictions?)\b)|in|on|of|as|fails?"
        r"|failed|returns?|returned|says?|orders?|gives?|means?|asks?|leaves?|names?|needs?|holds?|lacks?|reads?|goes"
        r"|would|should|selects?|uses?|counts?|computes?|takes?|allows?|cannot|cuts?|runs?|ran|gave|found|that|whose|if|any)\b))",
        "'gold query', 'gold result'",
        "None if the gold fails",
    ),
    _wording(
        "judge",
        r"(?i)\bjudg(?:ed|ing|e?ments?)\b|\bjudges (?!that\b|of\b|with\b|and\b|are\b|may\b)"
        r"|(?:^|\b(?:to|can|cannot|not|only|and) |[.:;,] )judge (?!model)",
        "'evaluate', 'score', 'compare' (the LLM judge is called so)",
        "cases are judged",
    ),
    _wording(
        "there is a, b",
        r"(?i)[:;,(] ?there (?:is|are) \{\}(?! (?:\w+ )?(?:for|cases|statements)|, )|^: there is\b|\. There is \{\}",
        "'the columns are a, b', 'known: a, b'",
        "no format {}: there is {}",
    ),
    _wording(
        "that there is not",
        r"(?i)\bthat there (?:is|are) not\b|\b(?:file|folder|column|sheet|run|one|table)s? that (?:is|are) not there\b",
        "'unknown …', 'missing …'",
        "a sheet that there is not",
    ),
    _wording("holds no", r"(?i)\bholds? no (?!\w+'s|NULL|more|other)", "'contains no …'", "the file holds no question"),
    _wording(
        "holds",
        r"(?i)\b(?:arguments?|cases?|cells?|columns?|completions?|databases?|files?|folders?|groups?|instances?|lists?|options?"
        r"|outputs?|pages?|predictions?|questions?|records?|rows?|runs?|suites?|tables?|texts?|workbooks?)"
        r"(?: (?:that|which))?(?: (?:may|can|cannot|could|must|does|not|already|really))* holds? "
        r"(?!for\b|in\b|on\b|if\b|only\b|together\b|back\b|it to\b|true\b|good\b|also\b|the (?:true|run's|folder's)\b)",
        "'contains'",
        "the folder holds another run",
    ),
    _wording("tried again", r"(?i)\b(?:tried|tries) again\b", "'retried'", "it is tried again"),
    _wording(
        "where",
        r"(?<!\[)(?<!^)\bwhere\b(?! to\b|,| and\b|[^.]*\?| \w is\b)"
        r"|\bWhere\b(?=[^.?:]*,(?! (?:for|and|or|as|of|including)\b))",
        "'if' or 'when'",
        "None where it did not run, of course",
    ),
    _wording(
        "such as",
        r"(?i)\bsuch as (?=[{`'\"\d]|an? `|X)",
        "'for example'",
        "ids such as {}",
    ),
)
_WHERE_IT_IS = re.compile(
    r"(?i)where (?:[\w'`{}.]+ ){0,5}?(?:is|are|was|were|begins?|stands?|ends?|ended|belongs?|lies?|leads?"
    r"|came|goes|starts?)(?: from)?(?:[.,;:)\"]|$| and\b)"
)
"""An indirect question, whose place is not in the sentence: "the file, and where it begins"."""
_PLACE = re.compile(
    rf"(?i)(?:\b(?:{PLACES})(?:s|es)?,?|\b(?:{ASKS})(?:s|es|ed|ing)?:?|\b(?:Windows|Linux|macOS),"
    r"|\b(?:what|which|how|where|when)\b[^.;]*?(?:,|,? and|,? or))(?: exactly)? $"
)


def is_place(text: str, position: int) -> bool:
    """Whether the "where" at a position is about a place."""
    return bool(_PLACE.search(text[:position]) or _WHERE_IT_IS.match(text, position))


def faults(text: str) -> Iterator[tuple[Wording, str]]:
    """Each wording that the text has, with the words around it. Code in backticks and quoted text is not read."""
    plain = " ".join(re.sub(r"``.+?``|`[^`]*`", "X", text, flags=re.S).split())
    for wording in WORDINGS:
        for match in wording.pattern.finditer(plain):
            if wording.name == "where" and is_place(plain, match.start()):
                continue
            if wording.name == "gold" and len(plain.split()) < 4:  # a cell of a table, or a label
                continue
            yield wording, plain[max(0, match.start() - 40) : match.end() + 30]


FIRST_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        of in on at by for from with without to into onto under over after before between among through during since
        until as per than like about against beyond within whether if when where what which who whose whom how why that
        because unless while and or but nor so it its they them their this these those there here you your we our he she
        his her some any each every either neither both also only even just not else again then better no the a an is
        are was were be has have does did can could may might must should will would never always
        """,
    )
)
"""What an option's help must not begin with: words that are neither nouns nor imperative verbs."""
THIRD_PERSON = frozenset(
    re.findall(
        r"\w+",
        """
        accepts adds allows asks begins builds checks compares computes converts creates deletes disables does draws
        enables ends evaluates executes exits fails finds forgets gives goes ignores installs judges keeps leaves loads
        looks makes means merges needs opens prefers prints puts reads records removes replaces resumes returns saves
        says sends sets shows skips starts stops suppresses takes tells tries turns uses verifies waits writes
        """,
    )
)
"""Verbs that are not imperative. Ambiguous ones (names, results, matches, limits) are nouns."""


def bad_opening(text: str) -> str:
    """Why the help of an option begins neither with a noun nor with an imperative verb; empty if it does."""
    stripped = re.sub(r"^(?:\[[^]]*\]\s*)+", "", text.strip())
    if not stripped:
        return "it has no help"
    first = stripped.split()[0]
    word = first.strip("'\"(),.:;").lower()
    if word in FIRST_WORDS:
        return f"{first!r} is neither a noun nor an imperative verb"
    if word in THIRD_PERSON:
        return f"{first!r} is not an imperative"
    if word.endswith("ing") and word not in {"string", "setting", "timing", "pricing"}:
        return f"{first!r} is a participle"
    if first[0] in "'\"":
        return "it begins with a quoted value instead of what the option is"
    if first[0].islower() and first.isalpha():
        return f"{first!r} begins with a small letter"
    return ""
