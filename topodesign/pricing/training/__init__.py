"""A transformer's training step: model, traffic and timeline.

``model`` reads a description and counts parameters and operations, ``traffic`` says which collectives follow in
which groups, and ``timeline`` when they run: layer by layer, and micro batch by micro batch through the pipeline.
Nothing here knows a network; :mod:`topodesign.schedulers.step` prices one. A new sort of parallelism is an axis of
:attr:`~topodesign.pricing.training.model.Model.shape` and its streams in ``traffic``.
"""
