"""What the command line does with studies: `run`, `show`, `ask` and `tell`."""
