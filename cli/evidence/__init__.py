"""The commands that look at real runs: logs, dumps, weights, data, the environment, inference, the playbook."""
