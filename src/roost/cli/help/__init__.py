"""What says what the commands are: their help, man pages, completion, glossary, and pages of the manual."""
