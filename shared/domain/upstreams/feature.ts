import type { DomainFeature } from '../feature.ts';
import { RUN_TRIAL, TRIAL_RETENTION } from './trials.ts';

export const UPSTREAMS: DomainFeature = { tasks: [RUN_TRIAL], retention: [TRIAL_RETENTION] };
