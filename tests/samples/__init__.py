"""Sample inputs: topologies, schedules, trees, fabrics, catalogs, inventories and wirings."""
