"""The API of a master: the requests of every verb and their replies, each declared once."""
