"""Where events of graphs come from and go to: MQTT, UDP and shared memory."""
