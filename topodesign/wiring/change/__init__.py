"""Changes: from the wiring that exists to the wiring wanted, stage by stage."""
