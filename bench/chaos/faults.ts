import { CLIENT_FAULTS } from './client-faults.ts';
import { CLOCK_FAULTS } from './clock-faults.ts';
import { DISK_FAULTS } from './disk-faults.ts';
import type { ChaosFault } from './fault.ts';
import { NETWORK_FAULTS } from './network-faults.ts';
import { PROCESS_FAULTS } from './process-faults.ts';
import { STORE_FAULTS } from './store-faults.ts';

/** Every kind of fault. Times are drawn from the seed; when exactly a signal meets a process is not. */
export const FAULTS: readonly ChaosFault[] = [
  ...PROCESS_FAULTS,
  ...STORE_FAULTS,
  ...CLIENT_FAULTS,
  ...NETWORK_FAULTS,
  ...CLOCK_FAULTS,
  ...DISK_FAULTS,
];
