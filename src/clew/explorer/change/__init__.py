"""View 4: forms that edit, what moved, and a second model beside the first."""
