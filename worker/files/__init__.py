"""Files of tasks: inputs that come, outputs that go."""
