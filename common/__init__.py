"""The shared vocabulary: money, billing, offerings, messages, the authenticated link."""
