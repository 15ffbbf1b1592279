"""Every limit of the ClassAd room, with its unit and what happens beyond it.

Input that exceeds a *parse* limit is refused with a `ParseError` whose code is ``limit``.
Evaluation that exceeds an *evaluation* limit yields the value ERROR.
"""

from typing import Final

#: Characters of one expression or of one ad in new form; beyond: ParseError.
SOURCE_CHARS_MAX: Final = 16 * 1024 * 1024

#: Levels of open brackets, calls, conditionals and prefix operators in one expression; beyond: ParseError.
NESTING_MAX: Final = 1000

#: Levels of ads nested in each other; beyond: ParseError, or ValueError for data from Python.
AD_NESTING_MAX: Final = 160

#: Bytes of one attribute name; beyond: ParseError.
NAME_BYTES_MAX: Final = 64 * 1024

#: Attribute references open at once (a -> b -> c ...) during one evaluation; beyond: ERROR.
REFERENCE_DEPTH_MAX: Final = 400

#: Python frames one evaluation may use: deep nesting times deep reference chains; beyond: ERROR.
EVALUATION_FRAMES_MAX: Final = 60_000

#: Attribute references, list elements, function steps and compared text spent by one evaluation; beyond: ERROR.
EVALUATION_FUEL: Final = 2_000_000

#: Bytes of a string made during an evaluation; beyond: ERROR.
STRING_BYTES_MAX: Final = 64 * 1024 * 1024

#: Elements of a list made by a function; beyond: ERROR.
LIST_ITEMS_MAX: Final = 1_000_000

#: Steps of the bounded regular expression engine for one match; beyond: ERROR.
REGEX_STEPS_MAX: Final = 1_000_000

#: Distinct expression texts kept in the intern table; the oldest leave first.
INTERNED_TEXTS_MAX: Final = 100_000

#: Attribute spellings shared between ads; further ones are kept by each ad for itself.
SHARED_NAMES_MAX: Final = 100_000

#: Sub-expressions that one trace records; beyond: the trace holds the value alone.
TRACE_NODES_MAX: Final = 100_000
