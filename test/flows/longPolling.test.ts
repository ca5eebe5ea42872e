import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';

describe('a read with wait', () => {
  const service = useTestService({ apis: 2, workers: 2 });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('studio');
  });
  beforeEach(() => {
    service.upstream.outcome = 'wait';
  });

  const read = async (uuid: string, wait: string, who = customer) => {
    const startedAt = performance.now();
    const response = await who.request('GET', `/api/generations/${uuid}/?wait=${wait}`);
    return { ...response, tookMs: performance.now() - startedAt };
  };
  const countPolls = (prompt: string) => service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0;
  /** Starts a read and resolves when the upstream is polled while it waits. */
  const startRead = async ({ uuid, prompt }: { uuid: string; prompt: string }, wait: string, who = customer) => {
    const before = countPolls(prompt);
    const response = read(uuid, wait, who);
    await eventually('the upstream is polled while the client waits', () => countPolls(prompt) > before);
    return { response };
  };
  const submitted = async (kind: 'createImage' | 'createVideo' = 'createImage') => {
    const generation = await customer[kind](`waited for ${randomUUID()}`);
    await eventually('submitted', () => service.upstream.jobsFor(generation.prompt).length === 1);
    return generation;
  };

  it('responds as soon as the generation ends', async () => {
    const generation = await submitted();
    const { response } = await startRead(generation, '30');
    service.upstream.end(generation.prompt, 'succeeded');
    const endedAt = performance.now();
    const { body } = await response;
    expect(body.status).to.equal('succeeded');
    // The upstream is polled at most once in 2 s; the response follows the poll at once.
    expect(performance.now() - endedAt).to.be.below(scaleTimeout(4_000));
  });

  it('responds as soon as another process ends the generation, here at its deadline', async () => {
    const generation = await submitted();
    const { response } = await startRead(generation, '30');
    const endedAt = performance.now();
    await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [generation.uuid]);
    expect((await response).body.status).to.equal('failed');
    expect(performance.now() - endedAt).to.be.below(scaleTimeout(5_500));
  });

  it('responds with the queued generation when the time is over', async () => {
    const { uuid } = await submitted();
    const { status, body, tookMs } = await read(uuid, '3');
    expect([status, body.status]).to.deep.equal([200, 'queued']);
    expect(tookMs).to.be.within(2_900, scaleTimeout(4_500));
  });

  it('does not wait for a generation that has ended', async () => {
    service.upstream.outcome = 'succeed';
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    expect((await read(uuid, '45')).tookMs).to.be.below(scaleTimeout(1_000));
  });

  it('polls the upstream at most once in 2 s, however many readers wait in however many processes', async () => {
    const { uuid, prompt } = await submitted('createVideo');
    const readers = service.baseUrls.map((baseUrl) => customer.on(baseUrl));
    await Promise.all(Array.from({ length: 20 }, (_, index) => read(uuid, '7', readers[index % 2])));
    const polls = service.upstream.jobsFor(prompt)[0]?.polls ?? [];
    const gaps = polls.slice(1).map((poll, index) => poll - (polls[index] as number));
    expect(polls.length).to.be.within(2, 5);
    expect(Math.min(...gaps)).to.be.above(1_900);
  });

  it('ends with 404 when the generation is deleted, and with 401 when the key is revoked', async () => {
    const generation = await submitted();
    const deleted = await startRead(generation, '20');
    await customer.request('DELETE', `/api/generations/${generation.uuid}/`);
    expect((await deleted.response).status).to.equal(404);

    const revoked = await startRead(await submitted(), '20');
    const revokedAt = performance.now();
    const { body } = await customer.requestWithSession('GET', '/api/keys/');
    await customer.requestWithSession('POST', `/api/keys/${body.data[0].uuid}/revoke/`);
    expect((await revoked.response).status).to.equal(401);
    expect(performance.now() - revokedAt).to.be.below(scaleTimeout(4_700));
    customer = await service.createCustomer('studio');
  });

  it('ends with 403 when the key may not read any more', async () => {
    const { uuid, customer: reader } = await createRestrictedKey(service, customer, {});
    const { response } = await startRead(await submitted(), '20', reader);
    const body = { scopes: ['svc:write'] };
    expect((await customer.requestWithSession('PATCH', `/api/keys/${uuid}/`, { body })).status).to.equal(200);
    expectError(await response, 'insufficient_scope');
  });

  it('does not delay the shutdown of a web process', async () => {
    const api = await service.startApi();
    const { response } = await startRead(await submitted(), '45', customer.on(api.baseUrl));
    const startedAt = performance.now();
    expect(await api.stop()).to.equal(0);
    expect(performance.now() - startedAt).to.be.below(scaleTimeout(5_000));
    expect((await response).body.status).to.equal('queued');
    service.apis.splice(service.apis.indexOf(api), 1);
  });

  for (const wait of ['46', '-1', '1.5', 'long', '', '1&wait=2']) {
    it(`rejects wait="${wait}", because it must be 0 to 45 whole seconds`, async () => {
      const { status, body } = await read(randomUUID(), wait);
      expect([status, body.error]).to.deep.equal([400, 'validation_error']);
      expect(body.detail).to.match(/^wait must be/);
    });
  }
});
