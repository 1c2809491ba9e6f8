"""Running a recipe: the whole order from the stream's opening to its end, every step an event."""
