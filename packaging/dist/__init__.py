"""Makes the packages of a release from one compiled program. `python3 -m dist --help` lists the options."""
