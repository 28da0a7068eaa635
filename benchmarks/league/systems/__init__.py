"""One small adapter per system: translate in, call it as its documentation recommends, translate out."""
