"""An inventory from NetBox: from its server, or from files that it exports or imports."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.units import Quantity
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.reading import inventory_of
from topodesign.wiring.netbox.rest import is_address, read_rest
from topodesign.wiring.netbox.tables import read_tables


def read_netbox(
    source: str | Path,
    *,
    token: str | None = None,
    site: str | None = None,
    roles: Collection[str] = (),
    speed: Quantity | None = None,
) -> Inventory:
    """Read the inventory of a room from NetBox.

    Parameters
    ----------
    source
        The address of a server, or a directory with the CSV files that NetBox exports of its lists of devices,
        interfaces, rear ports, front ports, and as far as they are wanted sites, racks and cables.
    token
        For a server; the variable ``NETBOX_TOKEN`` of the environment if None.
    site
        Name of the only site to read; all if None.
    roles
        Names of the roles of hosts and panels; all if there are none.
    speed
        Only ports of this speed over all lanes count; text such as ``100Gbps``, or bits per second.

    Raises
    ------
    NetboxError, MissingLibraryError
        If a server cannot be read, or pynetbox is not installed.
    FileFormatError
        If files cannot be read, or it is no inventory that is told.
    ParameterError
        If there is no such site, or no token.

    Examples
    --------
    >>> from topodesign import export_wiring, plain_inventory, wire
    >>> _ = export_wiring(wire("circulant(6,1,2)", plain_inventory(6, 4)), "netbox", "files")
    >>> read_netbox("files")
    Inventory('plain', 6 hosts with 24 lanes, 1 panel with 24 ports)
    """
    if is_address(source):
        return inventory_of(read_rest(str(source), token, site=site), roles=roles, speed=speed)
    path = as_path(source)
    objects = read_tables(path)
    if site is not None:
        objects = objects.at(site)
    try:
        return inventory_of(objects, roles=roles, speed=speed)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
