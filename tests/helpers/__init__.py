"""What tests share: benches, masters, users, browsers, beds; each module says of what."""
