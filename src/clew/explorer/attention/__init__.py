"""View 2: heads side by side, stage by stage, and who may read whom."""
