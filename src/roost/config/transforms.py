"""Values with macros from outside the configuration: transforms and routes of jobs, templates of submit files.

Their text is kept unexpanded until it is applied to a job. By then there are macros that the text itself defines
(``name = text``, ``EVALMACRO name``, the variables of ``TRANSFORM``), the job's attributes (``$(MY.Name)``) and, in a
template of submit files, its arguments and the commands of the description. Only the other references are to macros
of the configuration.
"""

from __future__ import annotations

import re
from typing import Final

_TRANSFORM: Final = re.compile(
    r"(?:job|submit)_transform_(?!names\Z)|job_router_transform_|job_router_route_(?!names\Z)|job_router_defaults\Z"
    r"|job_router_entries\Z"
)
#: Transforms that share their macros with one another and with the route that a job takes, which may be a site's own.
_OF_ROUTER: Final = re.compile(r"job_router_transform_")
_TEMPLATE: Final = re.compile(r"submit_template_(?!names\Z)")
_MADE: Final = re.compile(
    r"^[ \t]*(?:EVALMACRO[ \t]+([A-Za-z_]\w*)|([A-Za-z_]\w*)[ \t]*=(?!=))", re.IGNORECASE | re.MULTILINE
)
_ITEMS: Final = re.compile(
    r"^[ \t]*TRANSFORM[ \t]+(?:\d+[ \t]+)?([\w, \t]*?)[ \t]*\b(?:in|from|matching)\b", re.IGNORECASE | re.MULTILINE
)
#: Macros defined in every transform.
_ALWAYS: Final = frozenset(("row", "step", "item", "itemindex", "process", "rulesfile", "xformid"))


def is_for_jobs(key: str) -> bool:
    """Whether the value of a case-folded name is expanded for each job rather than by the reader."""
    base = key.rpartition(".")[2]
    return _TRANSFORM.match(base) is not None or _TEMPLATE.match(base) is not None


def is_of_job(key: str, text: str, name: str) -> bool:
    """Whether a case-folded macro in the value of a name is defined by the value or comes from the job."""
    base = key.rpartition(".")[2]
    if _TEMPLATE.match(base) or _OF_ROUTER.match(base):
        return True
    return _TRANSFORM.match(base) is not None and (name.startswith("my.") or name in made_in(text))


def made_in(text: str) -> frozenset[str]:
    """The case-folded macros that the text of a transform defines."""
    names = {(first or second).lower() for first, second in _MADE.findall(text)}
    for variables in _ITEMS.findall(text):
        names |= set(variables.lower().replace(",", " ").split())
    return _ALWAYS | names
