"""Programs for the host where workers run, sent there or installed."""
