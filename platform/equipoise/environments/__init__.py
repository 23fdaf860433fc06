"""Worlds of text in which policies act: their states can be kept, restored and compared."""
