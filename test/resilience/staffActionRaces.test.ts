import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import type { HttpPage } from '../harness/httpBrowser.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit, useStaffService } from '../harness/staffConsole.ts';

/** Counts the forms that changed something. All must have been accepted. */
const countChanged = (pages: HttpPage[]) => {
  expect(new Set(pages.map(({ status }) => status))).to.deep.equal(new Set([303]));
  return pages.filter(({ headers }) => !headers.get('location')?.endsWith('done=unchanged')).length;
};

describe('simultaneous staff actions', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    customer = await service.createCustomer('pro');
  });

  /** Sends the same form many times at once. */
  const sendAtOnce = async (action: string, count: number, typed: Record<string, string> = {}) => {
    const fields = { ...(await console.readForm(action)), ...typed };
    return Promise.all(Array.from({ length: count }, () => console.send(action, fields)));
  };

  it('20 refunds of one generation refund it once', async () => {
    const balance = await customer.balance();
    const { uuid } = await customer.createImage();
    await completeAllGenerations(service, customer);
    expect(countChanged(await sendAtOnce(`/admin/generations/${uuid}/refund/`, 20))).to.equal(1);
    expect(await customer.balance()).to.equal(balance);
    expect((await customer.ledger()).filter(([type]) => type === 'refund')).to.deep.equal([['refund', 8]]);
    expect(await readAudit(service, customer)).to.have.length(1);
    await service.checkIntegrity();
  });

  it('20 adjustments with one form are posted once', async () => {
    const balance = await customer.balance();
    const action = `/admin/accounts/${await findAccountUuid(service, customer)}/adjust/`;
    expect(countChanged(await sendAtOnce(action, 20, { credits: '50' }))).to.equal(1);
    expect(await customer.balance()).to.equal(balance + 50);
    expect(await readAudit(service, customer)).to.have.length(1);
  });

  it('removals of credits never take more than the top-up credits', async () => {
    const action = `/admin/accounts/${await findAccountUuid(service, customer)}/adjust/`;
    const balance = await customer.balance();
    await console.act(action, { credits: '50' });
    const pages = await Promise.all(Array.from({ length: 10 }, () => console.act(action, { credits: '-20' })));
    expect(pages.map(({ status }) => status).toSorted((one, other) => one - other)).to.deep.equal([
      ...Array(2).fill(303),
      ...Array(8).fill(400),
    ]);
    expect(await customer.balance()).to.equal(balance + 10);
    await service.checkIntegrity();
  });

  it('20 refunds of one top-up record one refund', async () => {
    await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    const [{ uuid }] = await service.sql('SELECT uuid FROM topups ORDER BY created_at DESC LIMIT 1');
    expect(countChanged(await sendAtOnce(`/admin/topups/${uuid}/refund/`, 20))).to.equal(1);
    expect(await service.sql('SELECT 1 FROM owed_refunds WHERE topup_uuid = $1', [uuid])).to.have.length(1);
  });

  it('refunds beside new generations keep balance, ledger and usage consistent', async () => {
    const uuids: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      uuids.push((await customer.createImage()).uuid);
      await completeAllGenerations(service, customer);
    }
    const pages = await Promise.all([
      ...uuids.map((uuid) => console.act(`/admin/generations/${uuid}/refund/`)),
      ...uuids.map((uuid) => console.act(`/admin/generations/${uuid}/refund/`)),
    ]);
    const creations = await Promise.all(Array.from({ length: 5 }, () => customer.createImage()));
    expect(creations).to.have.length(5);
    expect(countChanged(pages)).to.equal(4);
    await service.checkIntegrity();
  });
});
