"""Installs every package of a release in clean systems without network, and uses it there."""
