"""What runs on the host where workers run, sent there or installed."""
