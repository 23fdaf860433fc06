"""Household chores in text: ALFWorld's six kinds of task, its rules and its words, in plain Python."""
