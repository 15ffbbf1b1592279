"""The catalogue of templates for ``use CATEGORY : Name``; its page in the reference is generated from it."""

from __future__ import annotations

from roost.config.template import Template
from roost.config.templates import cookbook, feature, hours, known, policy, pool, queue, role
from roost.config.templates.known import WITHOUT_EFFECT

ALL: tuple[Template, ...] = (
    *role.TEMPLATES,
    *feature.TEMPLATES,
    *queue.TEMPLATES,
    *hours.TEMPLATES,
    *policy.TEMPLATES,
    *cookbook.TEMPLATES,
    *pool.TEMPLATES,
)
#: (category, name), both case-folded
BY_NAME: dict[tuple[str, str], Template] = {(one.category.lower(), one.name.lower()): one for one in ALL}
CATEGORIES: frozenset[str] = frozenset(category for category, _ in BY_NAME) | known.CATEGORIES

__all__ = ["ALL", "BY_NAME", "CATEGORIES", "WITHOUT_EFFECT"]
