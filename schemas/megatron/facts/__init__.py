"""Facts of Megatron-LM and its forks: read out of source trees, stored, compiled; never imported for a user's file."""
