"""The versions of the frameworks; compiled from versions.yaml, do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSIONS: Any = (
    ('megatron', '0.12', 'megatron', ('default', 'read', 'write', 'verify'), '0.12', None, 'core_v0.12.0', 'megatron-core==0.12.3'),
    ('megatron', '0.13', 'megatron', ('read', 'write'), '0.13', None, 'core_v0.13.1', None),
    ('megatron', '0.14', 'megatron', ('read', 'write'), '0.14', None, 'core_v0.14.0', None),
    ('megatron', '0.15', 'megatron', ('read', 'write'), '0.15', None, 'core_v0.15.3', None),
    ('megatron', '0.16', 'megatron', ('read', 'write'), '0.16', None, 'core_v0.16.1', None),
    ('megatron', '0.17', 'megatron', ('read', 'write'), '0.17', None, 'core_v0.17.1', 'megatron-core==0.17.1'),
    ('megatron', '0.18', 'megatron', ('read', 'write'), '0.18', None, 'core_v0.18.2', 'megatron-core==0.18.2'),
    ('megatron', '0.19', 'megatron', ('read', 'write'), '0.19', None, 'core_v0.19.0', 'megatron-core==0.19.2'),
    ('megatron', 'main', 'megatron', ('read', 'write'), 'main', '0.20.0 dev, 2026-08-22', 'd98e8a64ddf34856e74b24714e3bedb2f5a39553', None),
    ('mindformers', '1.6', 'static', ('read', 'write'), '1.6', None, None, 'mindformers==1.6.0'),
    ('mindformers', '1.6', 'legacy', ('read',), '1.6', None, None, 'mindformers==1.6.0'),
    ('mindformers', '1.7', 'static', ('read', 'write'), '1.7', None, None, 'mindformers==1.7.0'),
    ('mindformers', '1.7', 'legacy', ('read',), '1.7', None, None, 'mindformers==1.7.0'),
    ('mindformers', '1.8', 'static', ('read', 'write'), '1.8', None, None, 'mindformers==1.8.0'),
    ('mindformers', '1.8', 'legacy', ('read',), '1.8', None, None, 'mindformers==1.8.0'),
    ('mindformers', '1.9', 'static', ('default', 'read', 'write', 'verify'), '1.9', None, None, 'mindformers==1.9.0'),
    ('mindformers', '1.9', 'dynamic', ('read', 'write'), '1.9', None, None, 'mindformers==1.9.0'),
    ('mindformers', '1.9', 'legacy', ('read',), '1.9', None, None, 'mindformers==1.9.0'),
    ('mindformers', '2.0', 'static', ('read', 'write'), '2.1', None, None, 'mindformers==2.0.0'),
    ('mindformers', '2.0', 'dynamic', ('read', 'write'), '2.0', None, None, 'mindformers==2.0.0'),
    ('mindformers', '2.0', 'legacy', ('read',), '2.0', None, None, 'mindformers==2.0.0'),
    ('mindformers', '2.1', 'static', ('read', 'write'), '2.1', None, None, 'mindformers==2.1.0'),
    ('mindformers', '2.1', 'dynamic', ('default', 'read', 'write'), '2.1', None, None, 'mindformers==2.1.0'),
    ('mindformers', '2.1', 'legacy', ('read',), '2.1', None, None, 'mindformers==2.1.0'),
)
NUMBERS: dict[str, tuple[int, ...]] = {'main': (0, 20)}
