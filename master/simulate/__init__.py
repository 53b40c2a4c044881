"""The virtual-time driver of the brain, synthetic bags, and the studies made with them."""
