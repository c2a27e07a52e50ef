"""From a topology to cables: inventories, wiring plans, what was really wired, and changes from one to another."""
