"""Helpers of the tests: benches, masters, users, browsers, beds; each module says of what."""
