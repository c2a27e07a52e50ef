"""Wiring: plans, installed cabling, and changes.

Folders, each importing only from those before it: inventory, plan, netbox, bringup, change, switches, exports, check,
failures, plant; each says in its own words what it has. ``plan.net`` has the wires of a plan and the paths of light
along them: whoever asks where something leads reads it.
"""
