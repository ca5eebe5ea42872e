import { CLIENT_FAULTS } from './clientFaults.ts';
import type { Faults } from './fault.ts';
import { PROCESS_FAULTS } from './processFaults.ts';
import { PROVIDER_FAULTS } from './providerFaults.ts';
import { SERVER_FAULTS } from './serverFaults.ts';

/** All faults by the name in the report. Their order is part of what a seed means. */
export const FAULTS: Faults = { ...PROCESS_FAULTS, ...SERVER_FAULTS, ...CLIENT_FAULTS, ...PROVIDER_FAULTS };
