"""What a report shows, in its order: sections, made once from a view, that every format draws by their kind alone."""
