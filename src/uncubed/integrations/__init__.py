"""uncubed inside other tools, one module each, with the extra of the same name."""
