import { expect } from 'chai';
import { setSpendingLimit } from '../../shared/domain/spendingLimits/setSpendingLimit.ts';
import { Account } from '../../shared/tables/Account.ts';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { countOccurrences } from '../harness/errorEnvelope.ts';
import { addMember, withKey } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { addKey, getKeyNumber, readUsed, setKeyLimit } from '../harness/spendingLimits.ts';
import { eventually, useTestService } from '../harness/testService.ts';

/** Records each charge that leaves a limit exceeded, also if a refund hides it later. */
const RECORD_EXCEEDED_SQL = `
  CREATE TABLE exceeded (account_id bigint, used bigint, credits integer);
  CREATE FUNCTION record_exceeded() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO exceeded VALUES (NEW.account_id, NEW.used, NEW.credits);
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_exceeded AFTER UPDATE ON spending_limits FOR EACH ROW
    WHEN (NEW.updated_at = OLD.updated_at AND NEW.used > OLD.used AND NEW.used > NEW.credits)
    EXECUTE FUNCTION record_exceeded()`;

/** Returns the outcomes of responses: a status, or the code of the error. */
const tally = (responses: ApiResponse[]) => countOccurrences(responses.map(({ status, body }) => body.error ?? status));

describe('spending limits under concurrency', () => {
  const service = useTestService({ apis: 3, workers: 0 });
  before(async () => {
    await setAllModelsOnline(service);
    await service.sql(RECORD_EXCEEDED_SQL);
    for (const name of ['slots-within-the-limit', 'entitlement-matches-subscription']) service.fabricated.add(name);
  });
  afterEach(async () => {
    expect(await service.sql('SELECT * FROM exceeded')).to.deep.equal([]);
    await service.checkIntegrity();
  });

  /** Creates a customer with as many slots as the test needs. */
  async function createCustomer(): Promise<TestCustomer> {
    const customer = await service.createCustomer('studio');
    await service.sql('UPDATE accounts SET parallel_limit = 100000 WHERE email = $1', [customer.email]);
    return customer;
  }

  /** Runs clients that create images one after the other, spread over the API processes. */
  async function createConcurrently(
    customer: TestCustomer,
    { clients, creates }: { clients: number; creates: number },
  ): Promise<ApiResponse[]> {
    const runClient = async (index: number): Promise<ApiResponse[]> => {
      const client = customer.on(service.baseUrls[index % service.baseUrls.length] as string);
      const responses: ApiResponse[] = [];
      for (let create = 0; create < creates; create += 1) responses.push(await client.createGeneration(IMAGE));
      return responses;
    };
    return (await Promise.all(Array.from({ length: clients }, (_, index) => runClient(index)))).flat();
  }

  it('64 clients with 20 creates each do not spend one credit more than the limit', async function () {
    this.timeout(120_000);
    const customer = await createCustomer();
    await setKeyLimit(service, customer, { credits: 1_003, period: 'day' });
    const responses = await createConcurrently(customer, { clients: 64, creates: 20 });
    expect(tally(responses)).to.deep.equal({ 201: 125, spending_limit_reached: 1_155 });
    expect(await readUsed(service, customer)).to.equal(1_000);
    expect(await customer.balance()).to.equal(2_000);
  });

  it('a member does not spend one credit more than the limit with sessions and keys, and a key not more than its own', async function () {
    this.timeout(120_000);
    const owner = await createCustomer();
    const member = await addMember(owner, 'developer');
    const [first, second] = [await withKey(member), await withKey(member)];
    const accountId = await getAccountId(service, owner);
    const keyNumber = await getKeyNumber(service, second);
    await Account.transaction(async (transaction) => {
      await setSpendingLimit(transaction, accountId, { memberNumber: 2 }, { credits: 403, period: 'month' });
      await setSpendingLimit(transaction, accountId, { keyNumber }, { credits: 81, period: 'total' });
    });
    const [one, two] = [service.baseUrls[0] as string, service.baseUrls[1] as string];
    const create = (index: number): Promise<ApiResponse> => {
      const url = index % 2 === 0 ? one : two;
      if (index % 3 === 0) return first.on(url).createGeneration(IMAGE);
      if (index % 3 === 1) return second.on(url).createGeneration(IMAGE);
      return member
        .on(url)
        .requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a fox' } });
    };
    const responses = await Promise.all(Array.from({ length: 300 }, (_, index) => create(index)));
    expect(tally(responses)).to.deep.equal({ 201: 50, spending_limit_reached: 250 });
    expect(await readUsed(service, owner, 1)).to.equal(400);
    expect(await readUsed(service, owner, 2)).to.be.at.most(80);
    // The other members of the account are not limited.
    await owner.createImage();
  });

  it('a limit that is set, raised, lowered and removed during creates is kept from each change on', async () => {
    const customer = await createCustomer();
    const creating = new AbortController();
    const change = async () => {
      for (let step = 0; !creating.signal.aborted; step += 1) {
        const used = 8 * Number((await service.sql('SELECT count(*) FROM generations'))[0].count);
        const period = (['day', 'total', 'month'] as const)[step % 3] as 'day';
        const credits = step % 4 === 3 ? 1 : used + 8 * (step % 5) + 1;
        await setKeyLimit(service, customer, step % 7 === 6 ? null : { credits, period });
      }
    };
    const changes = change();
    const responses = await createConcurrently(customer, { clients: 12, creates: 25 });
    creating.abort();
    await changes;
    expect(Object.keys(tally(responses))).to.have.members(['201', 'spending_limit_reached']);
    await setKeyLimit(service, customer, { credits: 1, period: 'total' });
    expect(await customer.balance()).to.equal(3_000 - (await readUsed(service, customer)));
  });

  it('a charge that waits for the account while its first limit is inserted is rejected', async () => {
    const customer = await createCustomer();
    expect((await chargeWhileLimiting(customer)).body.error).to.equal('spending_limit_reached');
    expect(await customer.balance()).to.equal(3_000);
  });

  it('a charge that waits for the account while a further limit is inserted is decided with a new snapshot', async () => {
    const customer = await createCustomer();
    await setKeyLimit(service, await addKey(customer, 'other'), { credits: 100, period: 'day' });
    // From now on, the process uses the statement with limits directly.
    await customer.createImage();
    expect((await chargeWhileLimiting(customer)).body.error).to.equal('spending_limit_reached');
    expect(await customer.balance()).to.equal(3_000 - 8);
  });

  it('a charge that waits for the account while its limit changes counts on the changed limit', async () => {
    const customer = await createCustomer();
    await setKeyLimit(service, customer, { credits: 100, period: 'day' });
    await customer.createImage();
    expect((await chargeWhileLimiting(customer, 'total', 24)).status).to.equal(201);
    expect(await readUsed(service, customer)).to.equal(16);
    await setKeyLimit(service, customer, null);
    expect((await chargeWhileLimiting(customer, 'month', 24)).status).to.equal(201);
    expect(await readUsed(service, customer)).to.equal(24);
    expect((await chargeWhileLimiting(customer, 'day', 24)).body.error).to.equal('spending_limit_reached');
  });

  /** Sends a create, and sets a limit of the key in a transaction that has locked the account before the create did. */
  async function chargeWhileLimiting(
    customer: TestCustomer,
    period: 'day' | 'month' | 'total' = 'day',
    credits = 7,
  ): Promise<ApiResponse> {
    const [accountId, keyNumber] = [await getAccountId(service, customer), await getKeyNumber(service, customer)];
    let response: Promise<ApiResponse> | undefined;
    await Account.transaction(async (transaction) => {
      await Account.query(transaction).findById(accountId).forNoKeyUpdate();
      response = customer.createGeneration(IMAGE);
      await eventually('the charge waits for the account', async () => (await service.countLockWaits()) > 0);
      await setSpendingLimit(transaction, accountId, { keyNumber }, { credits, period });
    });
    return response as Promise<ApiResponse>;
  }
});
