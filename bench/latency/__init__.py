"""What bench/cpu.py is made of: peers, the process that runs one, and what its times say."""
