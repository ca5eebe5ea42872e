import { expect } from 'chai';
import type { ClientRequest } from '../../dev/chaos/clients/journal.ts';
import type { InjectedFault } from '../../dev/chaos/injectFaults.ts';
import { findSlowRequests } from '../../dev/chaos/slowRequests.ts';
import type { SpeedWatch } from '../../dev/chaos/machineWatch.ts';

const API = 'http://127.0.0.1:1';
const unloaded = { slownessBetween: () => 1 } as unknown as SpeedWatch;
const outage: InjectedFault = { name: 'Postgres unreachable', target: 'apis', from: 30_000, to: 34_000 };
const lostCharges: InjectedFault = {
  name: 'charge responses lost',
  target: 'drop after doing',
  from: 5_000,
  to: 20_000,
};

const buildRequest = (changes: Partial<ClientRequest>): ClientRequest => ({
  kind: 'create',
  at: 30_000,
  durationMs: 12_300,
  address: API,
  status: 503,
  code: 'internal_error',
  isTopupUnknown: false,
  ...changes,
});

const find = (request: Partial<ClientRequest>, faults: InjectedFault[]) =>
  findSlowRequests([buildRequest(request)], faults, [API], [], unloaded).map(({ detail }) => detail);

describe('the check of response times in chaos runs', () => {
  it('reports a create that takes longer than 5 s in an outage of a database', () => {
    expect(find({}, [outage])).to.have.length(1);
    expect(find({ durationMs: 4_000 }, [outage])).to.deep.equal([]);
  });

  it('lets a create wait 12 s for an automatic top-up whose outcome became unknown less than 24 s before', () => {
    expect(find({}, [lostCharges, outage])).to.deep.equal([]);
    expect(find({ durationMs: 19_000 }, [lostCharges, outage])).to.have.length(1);
    expect(find({}, [{ ...lostCharges, from: 0, to: 2_000 }, outage])).to.have.length(1);
  });

  it('lets a create wait 12 s that was rejected because the outcome of a top-up is unknown', () => {
    expect(find({ isTopupUnknown: true }, [outage])).to.deep.equal([]);
    expect(find({ isTopupUnknown: true, durationMs: 19_000 }, [outage])).to.have.length(1);
  });

  it('does not let other requests wait for a top-up', () => {
    expect(find({ kind: 'read' }, [lostCharges, outage])).to.have.length(1);
    expect(find({ kind: 'create webhook' }, [lostCharges, outage])).to.have.length(1);
  });
});
