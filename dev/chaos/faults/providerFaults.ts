import type { Misbehaviour } from '../../../test/fakes/misbehave.ts';
import type { Fault as StripeFault } from '../../../test/fakes/stripe/faults.ts';
import type { UpstreamFault } from '../../../test/fakes/fakeUpstream.ts';
import type { ModerationFault } from '../../../test/fakes/moderationService.ts';
import { MODERATION_FAULTS } from '../moderation.ts';
import { type Faults, lockOnly } from './fault.ts';

type UpstreamRequest = 'submit' | 'status' | 'result' | 'file';
const UPSTREAM_FAULTS: Record<UpstreamRequest, ((UpstreamFault & string) | number)[]> = {
  submit: ['hang', 'garbage', 'error', 'drop', 'busy', 'drop after acceptance', 'refuse'],
  status: ['hang', 'garbage', 'error', 'drop', 'busy', 'lose'],
  result: ['hang', 'garbage', 'error', 'drop', 'busy'],
  file: ['hang', 'garbage', 'error', 'drop', 'lose'],
};
const STRIPE_FAULTS: StripeFault[] = [
  'error',
  'error kept',
  'busy',
  'hang',
  'hang after doing',
  'drop',
  'drop after doing',
];

/** Faults of the model provider, of Stripe and of the moderation service. */
export const PROVIDER_FAULTS: Faults = {
  'upstream misbehaves': {
    weight: 8,
    targets: Object.entries(UPSTREAM_FAULTS).flatMap(([request, faults]) => faults.map((how) => `${request}: ${how}`)),
    locks: (target) => [`upstream ${target.split(':')[0]}`],
    durationMs: [1_000, 8_000],
    begin: ({ upstream }, target) => {
      const [request, how] = target.split(': ') as [UpstreamRequest, Misbehaviour];
      upstream[request] = how;
    },
    end: ({ upstream }, target) => {
      upstream[target.split(':')[0] as UpstreamRequest] = undefined;
    },
  },
  'upstream refuses connections': {
    weight: 1,
    targets: ['upstream'],
    locks: lockOnly('path to upstream'),
    durationMs: [1_000, 6_000],
    begin: ({ proxies }) => proxies.upstream.refuse(),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'upstream responses cut': {
    weight: 3,
    targets: ['upstream'],
    locks: lockOnly('path to upstream'),
    durationMs: [1_000, 6_000],
    begin: ({ proxies }, _, random) => proxies.upstream.cutReplies(() => random.chance(0.3)),
    end: ({ proxies }) => proxies.upstream.open(),
  },
  'Stripe misbehaves': {
    weight: 6,
    targets: STRIPE_FAULTS,
    locks: lockOnly('Stripe'),
    durationMs: [1_000, 6_000],
    begin: ({ stripe }, target) => {
      stripe.faults.all = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults.all;
    },
  },
  'charge responses lost': {
    weight: 8,
    targets: ['drop after doing', 'hang after doing'],
    // Only charges: one that is in progress when a month begins loses its response, too.
    locks: lockOnly('charges'),
    durationMs: [6_000, 15_000],
    begin: ({ stripe }, target) => {
      stripe.faults['intents.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['intents.create'];
    },
  },
  'refunds fail': {
    // In the last part of a run, so that some refunds are owed when it heals: see ../schedule.ts.
    weight: 0,
    targets: ['error', 'drop', 'hang'],
    locks: lockOnly('refunds'),
    durationMs: [0, 0],
    begin: ({ stripe }, target) => {
      stripe.faults['refunds.create'] = target as StripeFault;
    },
    end: ({ stripe }) => {
      delete stripe.faults['refunds.create'];
    },
  },
  'moderation fails': {
    // Once in a run: see ../schedule.ts.
    weight: 0,
    targets: MODERATION_FAULTS,
    locks: lockOnly('moderation'),
    durationMs: [0, 0],
    begin: ({ moderation }, target) => {
      if (moderation !== null) moderation.fault = target as ModerationFault;
    },
    end: ({ moderation }) => {
      if (moderation !== null) moderation.fault = null;
    },
  },
  'webhooks delayed': {
    weight: 2,
    targets: ['webhooks'],
    locks: lockOnly('webhooks'),
    durationMs: [2_000, 10_000],
    begin: ({ stripe }) => {
      stripe.delivery.pause = true;
    },
    end: ({ stripe }) => {
      stripe.delivery.pause = false;
    },
  },
};
