"""A hook keyword without hooks.

What: A JOB_HOOK_KEYWORD names a prefix, and no knob of the form <prefix>_HOOK_… is set.

Why: The keyword must be the prefix, letter for letter. If the knobs are called DATABASE_HOOK_… and the keyword is DB,
no hook ever runs.

Example::

    STARTD_JOB_HOOK_KEYWORD = DB
    DATABASE_HOOK_FETCH_WORK = /opt/hooks/fetch_work

Instead::

    STARTD_JOB_HOOK_KEYWORD = DATABASE
    DATABASE_HOOK_FETCH_WORK = /opt/hooks/fetch_work
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST606", Severity.WARNING, "A15")
def check(pool: Pool) -> Iterator[Hit]:
    prefixes = {key.partition("_hook_")[0].rpartition(".")[2] for key in pool.config.chains if "_hook_" in key}
    prefixes = {prefix for prefix in prefixes if not prefix.endswith("_job")}
    for key, chain in pool.user_definitions():
        if not key.endswith("job_hook_keyword") or not chain[-1].text.strip():
            continue
        word = (pool.value(key) or "").strip()
        if word and word.lower() not in {p for p in prefixes if f"{p}_hook_keyword" not in pool.config.chains}:
            others = ", ".join(sorted(p.upper() for p in prefixes - {"startd_job", "starter_job"}))
            yield Hit(
                message=f"no {word.upper()}_HOOK_… is set: no hook runs",
                remedy=f"Use one keyword for both; hooks are set for {others}."
                if others
                else f"Set {word.upper()}_HOOK_FETCH_WORK and the others that you need.",
                place=pool.place(chain[-1]),
                knob=chain[-1].name,
            )
