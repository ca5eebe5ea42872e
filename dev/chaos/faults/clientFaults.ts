import type { ChaosEnvironment } from '../environment.ts';
import { APIS, type Faults } from './fault.ts';

/** Faults between clients and the API. */
export const CLIENT_FAULTS: Faults = {
  'client responses cut': {
    weight: 5,
    targets: APIS,
    locks: (target) => [`path to ${target}`],
    durationMs: [1_000, 6_000],
    begin: (environment, target, random) => getApiProxy(environment, target).cutReplies(() => random.chance(0.3)),
    end: (environment, target) => getApiProxy(environment, target).open(),
  },
  'clients disconnected': {
    weight: 1,
    targets: APIS,
    locks: (target) => [`path to ${target}`],
    durationMs: [500, 4_000],
    begin: (environment, target) => getApiProxy(environment, target).refuse(),
    end: (environment, target) => getApiProxy(environment, target).open(),
  },
};

function getApiProxy(environment: ChaosEnvironment, api: string) {
  const proxy = environment.proxies.apis[APIS.indexOf(api)];
  if (proxy === undefined) throw new Error(`There is no process ${api}.`);
  return proxy;
}
