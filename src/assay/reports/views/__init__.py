"""The numbers of every report, made once: no format computes one."""
