"""Random small models of the supported operations, and what each protocol makes of them."""
