"""Reports of a bag and its money, for people: figures, charts, one HTML page, tables."""
