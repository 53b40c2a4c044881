"""Tables of studies and measures on a terminal."""
