"""Topology: links with capacities as columns, their files, symmetries and isomorphisms. Imports base."""
