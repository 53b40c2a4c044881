"""Makes the test data of a release: stores and wire frames as that release left them."""
