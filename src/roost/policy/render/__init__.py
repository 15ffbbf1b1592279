"""Renders explanations as aligned text, and as JSON of a documented form."""

from roost.policy.render.json import explanation_data, render_json
from roost.policy.render.text import render_text

__all__ = ["explanation_data", "render_json", "render_text"]
