"""The store: everything a master must not forget, in one SQLite file with one writer."""
