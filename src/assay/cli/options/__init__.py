"""Options that verbs share, and how what was typed and a settings file become settings."""
