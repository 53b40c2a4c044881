"""The web page and the metrics of a master; loaded only when they are asked for."""
