import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { executeIdempotent } from '../../shared/domain/platform/idempotentRequests.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { Account } from '../../shared/tables/Account.ts';
import { getAccountId } from '../harness/outbox.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { useTestService } from '../harness/testService.ts';

describe('a request with an Idempotency-Key', () => {
  const service = useTestService({ workers: 0 });
  let accountId: number;
  before(async () => {
    accountId = await getAccountId(service, await service.createCustomer());
  });

  it('whose repetition was carried out because it took too long is rolled back, and answered 503 with how to get the response', async () => {
    const request = { accountId, scope: 'keys.create', key: 'once', request: {} };
    const rename = (name: string, meanwhile: () => Promise<void>) =>
      executeIdempotent<string>(request, async (_, saveResponse) => {
        await meanwhile();
        return Account.transaction(async (transaction) => {
          await Account.query(transaction).patch({ stripe_customer_id: name }).where({ id: request.accountId });
          await saveResponse(transaction, name);
          return name;
        });
      });
    const slow = rename('slow', async () => {
      await service.sql(`UPDATE idempotent_requests SET created_at = created_at - interval '1 day'`);
      expect(await rename('repeated', async () => {})).to.deep.equal({ response: 'repeated', isReplay: false });
    });
    const error = await slow.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ServiceError);
    expect(error).to.include({ code: 'internal_error', retryAfterSeconds: 1 });
    expect((error as Error).message).to.include('Send it again with the same Idempotency-Key');
    expect(await service.sql('SELECT stripe_customer_id FROM accounts')).to.deep.equal([
      { stripe_customer_id: 'repeated' },
    ]);
    expect(await rename('slow', async () => {})).to.deep.equal({ response: 'repeated', isReplay: true });
  });

  it('waits for earlier ones with its key for three seconds in all, however many are rejected meanwhile', async () => {
    const request = { accountId, scope: 'keys.create', key: 'rejected', request: {} };
    const reject = () =>
      executeIdempotent(request, async () => {
        await setTimeout(2_000);
        throw new ServiceError('validation_error', 'name: too long.', { field: 'name' });
      });
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const error: unknown = await reject().catch((thrown: unknown) => thrown);
        return { code: (error as ServiceError).code, tookMs: performance.now() - startedAt };
      }),
    );
    const slowest = Math.max(...answers.map(({ tookMs }) => tookMs));
    expect(slowest).to.be.below(3_000 + 2_000 + scaleTimeout(1_000));
    expect(answers.filter(({ code }) => code === 'internal_error')).to.have.length.at.least(3);
  });

  it('that fails is answered before its key is released, and carried out when it is repeated', async () => {
    const request = { accountId, scope: 'keys.create', key: 'fails', request: {} };
    const holder = await service.database.connect();
    const failing = executeIdempotent(request, async () => {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM idempotent_requests FOR UPDATE');
      throw new Error('the connection was lost');
    });
    const error = await failing.catch((thrown: unknown) => thrown);
    await holder.query('COMMIT');
    holder.release();
    expect((error as Error).message).to.equal('the connection was lost');
    const repeated = await executeIdempotent(request, async () => 'repeated');
    expect(repeated).to.deep.equal({ response: 'repeated', isReplay: false });
  });
});
