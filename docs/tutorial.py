# %% [markdown]
# # From a question to patches, in Python
#
# Twelve hosts each have one port of four lanes of 25 Gbps. An optical patch panel connects them. This page finds a
# topology, schedules an allreduce, and plans the wiring. It is a notebook (`docs/tutorial.py`); below each cell is its
# output.
#
# ## Query
#
# Find the best topologies of 12 nodes with degree 4. Sizes and rates are text with units, or numbers.

# %%
import topodesign as td

result = td.pareto(12, 4, bidirectional=True, alpha="5us", sizes=["1MiB", "1GiB"], bandwidth="4x25Gbps")
result

# %% [markdown]
# A result shows a table; `result.to_records()` and `result.to_dataframe()` have its rows. One topology reaches both
# bounds. It comes from the catalog; for unknown sizes `pareto` searches.

# %%
best = result.best
print(best.spec, best.cost)

# %% [markdown]
# ## Build
#
# A row builds its topology. Its spec does the same, anywhere.

# %%
topology = best.build()
topology

# %%
td.price(topology), td.evaluate(topology).girth

# %% [markdown]
# You can also use networkx graphs:

# %%
import networkx as nx

petersen = td.as_topology(nx.petersen_graph().to_directed())
td.price(petersen), td.lower_bound(10, 3, duplex=True)

# %% [markdown]
# ## Schedule
#
# A plan contains every send of every step, and claims a cost.

# %%
plan = td.schedule(topology, "allreduce")
plan

# %% [markdown]
# ## Verify
#
# Independent code replays the plan and recomputes its cost.

# %%
td.verify(plan)

# %% [markdown]
# ## Simulate
#
# Compute the completion time, and the effect of a failed link.

# %%
td.simulate(plan, size="1MiB", alpha="5us", bandwidth="100Gbps")

# %%
broken = td.simulate(plan, size="1MiB", alpha="5us", bandwidth="100Gbps", failed=[(0, 2)])
broken.completes

# %% [markdown]
# ## Compile
#
# Write a program for MSCCL runtimes. `checked` reads it back, decides deadlocks and races, and runs it on integers.

# %%
program = td.compile_plan(plan, inplace=True, max_size="64MiB").checked()
program

# %%
program.save("allreduce.xml")
td.check_file("allreduce.xml").ok

# %% [markdown]
# ## Wire
#
# An inventory lists hosts, ports, a panel, and cables in stock.

# %%
td.copy_examples(["inventory_testbed.yaml", "observed_testbed.csv"], ".")
inventory = td.read_inventory("inventory_testbed.yaml")
wiring = td.plan_wiring(topology, inventory, mode="simplex")
wiring

# %% [markdown]
# Export work sheets and a list of all cables:

# %%
td.export_wiring(wiring, "racks", "racks.html")
td.export_wiring(wiring, "patches", "patches.csv")
td.check_wiring(wiring, export="patches.csv")

# %% [markdown]
# After cabling, compare LLDP neighbours with the plan. Two plugs were swapped:

# %%
td.check_wiring(wiring, lldp="observed_testbed.csv")

# %% [markdown]
# If a host fails, this remains, and these patches repair it:

# %%
td.failure_impact(wiring, host="host01")

# %% [markdown]
# ## Boxes behind switches
#
# For accelerators in boxes with switches, `optimum` proves the maximum throughput (in bytes per second, with the number
# of trees per root). The plan that reaches it uses spanning trees.

# %%
boxes = td.build_fabric("dgx_a100(2)")
best = td.optimum(boxes)
best.bandwidth, best.trees

# %%
trees = td.schedule(boxes, "allgather")
td.verify(trees)
