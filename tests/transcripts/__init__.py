"""What Grid Engine 8.1.9 printed, command by command, played again in a pool of Roost: see `world` and `replay`."""
