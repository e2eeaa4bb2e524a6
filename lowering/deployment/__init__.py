"""Programs in C++ that run a package on a board: tables of the package beside fixed sources."""
