"""Money above single bags: caps that stand, and what counts under them."""
