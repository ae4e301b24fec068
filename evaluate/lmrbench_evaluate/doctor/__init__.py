"""Examine whether evaluation can work here: engine, image, machine, packages, Hub, model servers; each with its fix."""
