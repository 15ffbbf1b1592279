"""Descriptions of the commands: their help, man pages, completion, glossary, and pages of the manual."""
