"""Explanations for people and for programs: aligned text, and JSON of a documented shape."""

from roost.policy.render.json import explanation_data, render_json
from roost.policy.render.text import render_text

__all__ = ["explanation_data", "render_json", "render_text"]
