"""The asyncio driver of the brain: sockets, store, fleet loop. It does IO and decides nothing."""
