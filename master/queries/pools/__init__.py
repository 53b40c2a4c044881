"""Questions about pools: how they stand, and how near they came to what was wanted."""
