import { expect } from 'chai';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const cancel = (customer: TestCustomer, uuid: string): Promise<ApiResponse> =>
  customer.request('POST', `/api/generations/${uuid}/cancel/`);

async function readUsage(customer: TestCustomer): Promise<{ balance: number; inFlight: number }> {
  const { credits, jobs } = (await customer.request('GET', '/api/usage/summary/')).body;
  return { balance: credits.balance, inFlight: jobs.in_flight };
}

describe('POST /api/generations/{uuid}/cancel/', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('studio');
  });

  it('ends a generation that was not submitted with 200, refunds it in full and frees its slot', async () => {
    const before = await readUsage(customer);
    const queued = await customer.createVideo();
    const { status, body } = await cancel(customer, queued.uuid);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ uuid: queued.uuid, status: 'failed', error_message: 'Canceled.', output_url: null });
    expect((await customer.readGeneration(queued.uuid)).body).to.deep.equal(body);
    expect(await readUsage(customer)).to.deep.equal(before);
    const [entry] = (await customer.request('GET', '/api/ledger/')).body.data;
    expect(entry).to.include({
      entry_type: 'refund',
      amount: 35,
      description: 'Refund: vidmodel-video generation canceled',
    });
  });

  it('returns a generation that has ended with 200, and changes nothing', async () => {
    const canceled = await customer.createImage();
    const first = await cancel(customer, canceled.uuid);
    const succeeded = await customer.createImage();
    await completeAllGenerations(service, customer);
    const [before, ledger] = [await readUsage(customer), await customer.ledger()];
    for (const attempt of [1, 2]) {
      const again = await cancel(customer, canceled.uuid);
      expect([again.status, again.body], String(attempt)).to.deep.equal([200, first.body]);
      const late = await cancel(customer, succeeded.uuid);
      expect([late.status, late.body.status], String(attempt)).to.deep.equal([200, 'succeeded']);
    }
    expect([await readUsage(customer), await customer.ledger()]).to.deep.equal([before, ledger]);
  });

  it('returns 202 for a generation that was submitted, refunds nothing, and records the request once', async () => {
    const { uuid } = await customer.createImage();
    await service.sql(
      `UPDATE generations SET upstream = 'fal', upstream_model = 'a/b', upstream_handle = '{}', submitted_at = now()
        WHERE uuid = $1`,
      [uuid],
    );
    const before = await readUsage(customer);
    const { status, body } = await cancel(customer, uuid);
    expect([status, body.status, body.error_message]).to.deep.equal([202, 'queued', null]);
    const readRequest = () => service.sql('SELECT cancel_requested_at FROM generations WHERE uuid = $1', [uuid]);
    const [recorded] = await readRequest();
    expect(recorded.cancel_requested_at).to.be.instanceOf(Date);
    expect((await cancel(customer, uuid)).status).to.equal(202);
    expect(await readRequest()).to.deep.equal([recorded]);
    expect(await readUsage(customer)).to.deep.equal(before);
    await completeAllGenerations(service, customer);
  });

  it('returns 404 for a generation that was deleted, and changes nothing', async () => {
    const { uuid } = await customer.createImage();
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    expectError(await cancel(customer, uuid), 'not_found', 'no generation with that UUID');
    const [row] = await service.sql('SELECT status, cancel_requested_at FROM generations WHERE uuid = $1', [uuid]);
    expect(row).to.deep.equal({ status: 'queued', cancel_requested_at: null });
    await completeAllGenerations(service, customer);
  });

  it('refunds once if many clients cancel the same generation at the same moment', async () => {
    const before = await readUsage(customer);
    for (let round = 0; round < 2; round += 1) {
      const { uuid } = await customer.createImage();
      const clients = Array.from({ length: 20 }, (_, index) => customer.on(service.baseUrls[index % 2] as string));
      const responses = await Promise.all(clients.map((client) => cancel(client, uuid)));
      expect(new Set(responses.map(({ status, body }) => `${status} ${body.status}`))).to.deep.equal(
        new Set(['200 failed']),
      );
      const refunds = await service.sql(
        "SELECT 1 FROM ledger_entries WHERE generation_uuid = $1 AND entry_type = 'refund'",
        [uuid],
      );
      expect(refunds).to.have.length(1);
    }
    expect(await readUsage(customer)).to.deep.equal(before);
  });
});
