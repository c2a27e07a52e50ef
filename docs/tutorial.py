# %% [markdown]
# # From a question to patches, in Python
#
# Twelve hosts, each with one port of four lanes of 25 Gbps, and an optical patch panel. How should they be wired for
# training, how should an allreduce run on that, and what goes where? This page is a notebook (`docs/tutorial.py`, in
# cells); what is below each piece of code is what it shows.
#
# ## Query
#
# What is worth wiring for 12 nodes of degree 4? Sizes and rates are text with units, or numbers.

# %%
import topodesign as td

result = td.pareto(12, 4, bidirectional=True, alpha="5us", sizes=["1MiB", "1GiB"], bandwidth="4x25Gbps")
result

# %% [markdown]
# A result shows itself as a table. It has rows for programs, too: `result.to_records()` and `result.to_dataframe()`.
# There is one topology here that reaches the bound in both terms. (The catalog knew it; where nothing is known,
# `pareto` searches.)

# %%
best = result.best
print(best.spec, best.cost)

# %% [markdown]
# ## Build
#
# A row builds its topology; so does its spec, as text, anywhere else.

# %%
topology = best.build()
topology

# %%
td.price(topology), td.evaluate(topology).girth

# %% [markdown]
# Topologies come from networkx and go there. One of your own is priced like any other:

# %%
import networkx as nx

petersen = td.as_topology(nx.petersen_graph().to_directed())
td.price(petersen), td.lower_bound(10, 3, duplex=True)

# %% [markdown]
# ## Schedule
#
# The plan says who sends which part of which shard to whom, at which step. It claims a cost; nothing is taken on trust.

# %%
plan = td.schedule(topology, "allreduce")
plan

# %% [markdown]
# ## Verify
#
# Code that shares nothing with the scheduler replays the plan and works its cost out again.

# %%
td.verify(plan)

# %% [markdown]
# ## Simulate
#
# When does it end, and what would a dead link do?

# %%
td.simulate(plan, size="1MiB", alpha="5us", bandwidth="100Gbps")

# %%
broken = td.simulate(plan, size="1MiB", alpha="5us", bandwidth="100Gbps", failed=[(0, 2)])
broken.completes

# %% [markdown]
# ## Compile
#
# A program that MSCCL runtimes load. `checked` reads it back, decides deadlocks and races, and runs it on integers.

# %%
program = td.compile_plan(plan, inplace=True, max_size="64MiB").checked()
program

# %%
program.save("allreduce.xml")
td.check_file("allreduce.xml").ok

# %% [markdown]
# ## Wire
#
# What there is to wire with: hosts, their ports, a panel, cables in stock.

# %%
td.copy_examples(["inventory_testbed.yaml", "observed_testbed.csv"], ".")
inventory = td.read_inventory("inventory_testbed.yaml")
wiring = td.wire(topology, inventory, mode="simplex")
wiring

# %% [markdown]
# The work sheets for those who carry it out, and a list of all cables:

# %%
td.export_wiring(wiring, "racks", "racks.html")
td.export_wiring(wiring, "patches", "patches.csv")
td.check_wiring(wiring, export="patches.csv")

# %% [markdown]
# Afterwards the hosts tell what they hear by LLDP. Two plugs were swapped:

# %%
td.check_wiring(wiring, lldp="observed_testbed.csv")

# %% [markdown]
# And when a host dies, this is what is left, and how to patch around it:

# %%
td.failure_impact(wiring, host="host01")

# %% [markdown]
# ## Boxes behind switches
#
# Where the accelerators sit in boxes with a switch, the links are what they are; the best that any plan can do on them
# is a number with a proof (here in bytes per second, with so many trees per root), and the plan that does it goes over
# spanning trees.

# %%
boxes = td.build_fabric("dgx_a100(2)")
best = td.optimum(boxes)
best.bandwidth, best.trees

# %%
trees = td.schedule(boxes, "allgather")
td.verify(trees)
